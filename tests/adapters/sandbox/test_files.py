"""Paths and contents of every unpleasant kind."""

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from bot.ports.sandbox import Session
from tests.contracts.sandbox import bash, edit, read, write

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize(
    "make",
    [
        "ln -s /etc/passwd bad",
        "ln -s ../../etc/passwd bad",
        "ln -s /proc/self/environ bad",
        "ln -s /dev/zero bad",
        "ln -s /tmp/outside bad; echo x > /tmp/outside",
        "ln -s bad bad",
        "mkfifo bad",
        "mkdir bad",
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"bad\")' || mkfifo bad",
        "mkfifo pipe; ln -s pipe bad",
    ],
)
async def test_only_a_plain_file_of_the_workspace_is_opened(session: Session, make: str) -> None:
    await bash(session, make)

    outcomes = [
        await read(session, "bad"),
        await write(session, "bad", "x"),
        await edit(session, "bad", "o", "x"),
        await session.call("grep", {"pattern": "x", "path": "bad/../bad"}, timeout_s=5),
    ]
    found = await session.call("grep", {"pattern": "root|^x"}, timeout_s=5)

    assert [outcome.ok for outcome in outcomes] == [False] * 4
    assert not any(outcome.timed_out for outcome in outcomes)
    assert "bad" not in found.text


async def test_a_linked_folder_leads_nowhere_outside(session: Session) -> None:
    await bash(session, "ln -s /tmp out; ln -s /etc etc; echo secret > /tmp/secret")

    outcomes = [
        await read(session, "out/secret"),
        await read(session, "etc/passwd"),
        await write(session, "out/new.txt", "x"),
        await write(session, "etc/new.txt", "x"),
    ]
    found = await session.call("glob", {"pattern": "**/*"}, timeout_s=5)

    assert [outcome.ok for outcome in outcomes] == [False] * 4
    assert found.text.splitlines() == ["etc", "out"]


async def test_links_within_the_workspace_are_followed_and_stay_links(session: Session) -> None:
    await bash(session, "mkdir real; echo one > real/a.txt; ln -s real/a.txt a; ln -s real there")

    seen = await read(session, "there/a.txt")
    await write(session, "a", "two\n")
    after = await bash(session, "cat real/a.txt; readlink a")

    assert seen.read is not None
    assert list(seen.read) == ["real/a.txt"]
    assert after.text == "two\nreal/a.txt"


@pytest.mark.parametrize(
    "path", ["x" * 300, "/".join(["x" * 200] * 30), "a\0b", "\ud800.txt", "..", "a/../b", ""]
)
async def test_a_name_that_cannot_be_is_a_result(session: Session, path: str) -> None:
    outcomes = [await read(session, path), await write(session, path, "x")]

    assert [outcome.ok for outcome in outcomes] == [False, False]
    assert all(len(outcome.text) < 600 for outcome in outcomes)


async def test_the_workspace_s_own_absolute_paths_are_taken(session: Session) -> None:
    await write(session, "/workspace/notes/a.txt", "x")

    assert (await read(session, "notes/a.txt")).ok
    assert not (await read(session, "/workspacenotes/a.txt")).ok


@pytest.mark.parametrize("name", ["a b.txt", "é.txt", "-rf", "a\nb", "*.txt", "~", "$HOME"])
async def test_odd_names_are_only_names(session: Session, name: str) -> None:
    await write(session, name, "odd\n")

    outcome = await read(session, name)

    assert outcome.text == "1\todd\n"
    assert outcome.read == {name: hashlib.sha256(b"odd\n").hexdigest()}


async def test_bytes_that_are_no_text_are_shown_as_such_and_said(session: Session) -> None:
    await bash(session, r"printf 'caf\xe9 x\n' > latin.txt; printf 'a\0b' > binary")

    latin = await read(session, "latin.txt")
    binary = await read(session, "binary")

    assert latin.text.startswith("1\tcaf\ufffd x\n")
    assert "not all of it is UTF-8" in latin.text
    assert not binary.ok
    assert "binary file of 3 bytes" in binary.text


async def test_names_and_output_that_are_no_text_can_still_be_stored(session: Session) -> None:
    await bash(session, r"echo needle > $'caf\xe9.txt'; ln -s $'caf\xe9.txt' link")

    outcomes = [
        await bash(session, r"ls; printf 'a\0b\n'"),
        await read(session, "link"),
        await session.call("glob", {"pattern": "*.txt"}, timeout_s=5),
        await session.call("grep", {"pattern": "needle"}, timeout_s=5),
    ]

    assert all(outcome.ok for outcome in outcomes)
    for outcome in outcomes:
        assert "\0" not in outcome.text
        outcome.text.encode("utf-8")
        "".join(outcome.read or {}).encode("utf-8")


async def test_an_edit_keeps_what_it_does_not_name(session: Session) -> None:
    await bash(session, r"printf 'caf\xe9\r\none\r\ntwo\r\n' > a.txt; chmod 755 a.txt")

    outcome = await edit(session, "a.txt", "one\ntwo\n", "1\n2\n3\n")
    after = await bash(session, "od -An -c a.txt | tr -d ' \\n'; stat -c %a a.txt")

    assert outcome.ok
    assert after.text == r"caf351\r\n1\r\n2\r\n3\r\n755"


async def test_an_edit_of_mixed_line_endings_is_taken_literally(session: Session) -> None:
    await bash(session, r"printf 'a\r\nb\nc\r\n' > a.txt")

    outcome = await edit(session, "a.txt", "b\nc", "B\nC")
    after = await bash(session, "od -An -c a.txt | tr -d ' \\n'")

    assert outcome.ok
    assert after.text == r"a\r\nB\nC\r\n"


async def test_a_lone_surrogate_is_never_written(session: Session) -> None:
    outcome = await write(session, "a.txt", "x\ud800")

    assert not outcome.ok
    assert "surrogate" in outcome.text


async def test_a_write_leaves_nothing_beside_it_and_keeps_the_mode(session: Session) -> None:
    await bash(session, "echo '#!/bin/sh' > run.sh; chmod 750 run.sh")
    await write(session, "run.sh", "#!/bin/sh\necho hi\n")

    outcome = await bash(session, "./run.sh; stat -c %a run.sh; ls -A | grep writing")

    assert outcome.text.startswith("hi\n750")
    assert "writing" not in outcome.text


async def test_an_empty_file_and_a_line_beyond_the_end_are_said(session: Session) -> None:
    await write(session, "empty.txt", "")
    await write(session, "a.txt", "one\n")

    empty = await read(session, "empty.txt")
    beyond = await read(session, "a.txt", offset=5)

    assert empty.ok
    assert "empty" in empty.text
    assert not beyond.ok
    assert "has 1 lines" in beyond.text


async def test_a_line_longer_than_the_limit_is_cut_and_the_rest_reachable(
    session: Session,
) -> None:
    await write(session, "a.txt", "x" * 100_000 + "\nlast\n")

    outcome = await read(session, "a.txt")

    assert len(outcome.text) < 31_000
    assert "go on with offset 2" in outcome.text


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["top.py"]),
        ("**/*.py", ["a/b/deep.py", "a/one.py", "top.py"]),
        ("a/*", ["a/one.py"]),
        ("a/**", ["a/b/deep.py", "a/one.py"]),
        ("**", ["a/b/deep.py", "a/one.py", "top.py"]),
        ("a/**/deep.py", ["a/b/deep.py"]),
        ("a/**/b/**/deep.py", ["a/b/deep.py"]),
        ("[at]*.py", ["top.py"]),
        ("node_modules/*", ["node_modules/m.py"]),
        ("/workspace/top.py", ["top.py"]),
    ],
)
async def test_a_glob_finds(session: Session, pattern: str, found: list[str]) -> None:
    for name in ("top.py", "a/one.py", "a/b/deep.py", "node_modules/m.py"):
        await write(session, name, "x")

    outcome = await session.call("glob", {"pattern": pattern}, timeout_s=5)

    assert outcome.text.splitlines() == found


async def test_many_results_are_capped_and_say_so(session: Session) -> None:
    await bash(session, "for i in $(seq 1000 1600); do echo match > f$i; done")

    names = await session.call("glob", {"pattern": "f*"}, timeout_s=5)
    lines = await session.call("grep", {"pattern": "match"}, timeout_s=5)

    for outcome in (names, lines):
        assert len(outcome.text.splitlines()) == 501
        assert outcome.text.splitlines()[0].startswith("f1000")
        assert "only the first 500" in outcome.text


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "*", "(?P<n>a)(?P<n>b)", "x{99999999999}"])
async def test_a_wrong_expression_is_a_result(session: Session, pattern: str) -> None:
    outcome = await session.call("grep", {"pattern": pattern}, timeout_s=5)

    assert not outcome.ok
    assert "no regular expression" in outcome.text


async def test_grep_takes_a_glob_of_names_at_any_depth(session: Session) -> None:
    await write(session, "a/b/one.py", "needle\n")
    await write(session, "two.txt", "needle\n")

    outcome = await session.call("grep", {"pattern": "needle", "glob": "*.py"}, timeout_s=5)

    assert outcome.text == "a/b/one.py:1: needle"
    assert outcome.read == {"a/b/one.py": hashlib.sha256(b"needle\n").hexdigest()}


async def test_only_what_the_workspace_is_counts_as_a_change(session: Session) -> None:
    await write(session, "a.txt", "x")

    quiet = [await bash(session, command) for command in ("cat a.txt", "ls", "echo x > /tmp/a")]
    scratch = await bash(session, "echo x > tmp/a; echo x > cache/a")
    changes = [
        await bash(session, command)
        for command in ("echo y > a.txt", "touch b", "rm b", "mkdir c", "chmod 600 a.txt")
    ]

    assert not any(outcome.changed for outcome in [*quiet, scratch])
    assert all(outcome.changed for outcome in changes)


async def test_a_fresh_command_has_nothing_of_those_before_and_leaves_nothing(
    session: Session,
) -> None:
    await bash(session, "cd drafts; export MARK=1")

    fresh = await session.call(
        "bash", {"command": "pwd; echo [$MARK]; export MARK=2", "fresh": True}, timeout_s=30
    )
    after = await bash(session, "basename $PWD; echo $MARK")

    assert fresh.text.splitlines()[-1] == "[]"
    assert not fresh.text.splitlines()[0].endswith("drafts")
    assert after.text.split() == ["drafts", "1"]


async def test_variables_stay_for_the_next_command_and_its_failure_does_not_matter(
    session: Session,
) -> None:
    await bash(session, "export A='x y'; B=not-exported; cd notes; exit 1")

    outcome = await bash(session, 'echo "$A|${B-}|$PWD"')

    assert outcome.text == "x y||/workspace/notes"


async def test_a_directory_that_is_gone_is_no_trap(session: Session) -> None:
    await bash(session, "mkdir d; cd d; rmdir ../d")

    outcome = await bash(session, "pwd")

    assert outcome.ok
    assert outcome.text.startswith("/workspace")


async def test_a_command_has_no_input_and_no_terminal(session: Session) -> None:
    outcome = await bash(session, "cat; read x; [ -t 0 ] || echo none", timeout_s=5)

    assert outcome.text == "none"


async def test_a_read_only_workspace_is_read_and_not_changed(
    sandbox: Bubblewrap, session: Session
) -> None:
    await write(session, "a.txt", "x")
    reader = await sandbox.open("G1", "read_only")

    seen = await read(reader, "a.txt")
    written = await write(reader, "a.txt", "y")
    command = await bash(reader, "echo y > a.txt; rm a.txt; echo z > /tmp/z && cat /tmp/z")
    await reader.close()

    assert seen.ok
    assert not written.ok
    assert "read-only" in written.text
    assert command.text.endswith("z")
    assert (await read(session, "a.txt")).text == "1\tx\n"


@pytest.mark.usefixtures("session")
def test_a_new_workspace_has_its_six_folders_and_nobody_else_may_look(folder: Path) -> None:
    made = sorted(path.name for path in (folder / "G1").iterdir())

    assert made == ["artifacts", "cache", "checkouts", "drafts", "notes", "tmp"]
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "G1").stat().st_uid == os.getuid()


async def test_an_unknown_tool_and_wrong_arguments_are_results(session: Session) -> None:
    outcomes = await asyncio.gather(
        session.call("format_disk", {}, timeout_s=5),
        session.call("read", {}, timeout_s=5),
        session.call("write", {"path": 1, "content": None}, timeout_s=5),
        session.call("bash", {"command": "a\0b"}, timeout_s=5),
    )

    assert [outcome.ok for outcome in outcomes] == [False] * 4
    assert (await bash(session, "echo on")).text == "on"
