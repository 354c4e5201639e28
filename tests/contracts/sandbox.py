"""What every sandbox does, whatever it is made of."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator

import pytest

from bot.errors import BadInput, NoSandbox
from bot.ports.sandbox import Outcome, Sandbox, Session

LIMIT_S = 30.0


async def bash(session: Session, command: str, timeout_s: float = LIMIT_S) -> Outcome:
    return await session.call("bash", {"command": command}, timeout_s=timeout_s)


async def read(session: Session, path: str, **more: int) -> Outcome:
    return await session.call("read", {"path": path, **more}, timeout_s=LIMIT_S)


async def write(session: Session, path: str, content: str) -> Outcome:
    return await session.call("write", {"path": path, "content": content}, timeout_s=LIMIT_S)


async def edit(session: Session, path: str, old: str, new: str, **more: bool) -> Outcome:
    arguments = {"path": path, "old": old, "new": new, **more}
    return await session.call("edit", arguments, timeout_s=LIMIT_S)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def pieces_of(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def put(session: Session, path: str, *pieces: bytes) -> str:
    hash = hashlib.sha256(b"".join(pieces)).hexdigest()
    return await session.put(path, hash, pieces_of(*pieces))


async def taken(session: Session, path: str, most: int = 10_000_000) -> bytes:
    return b"".join([piece async for piece in session.take(path, most=most)])


class SandboxContract:
    """Subclasses give a fixture `sandbox`."""

    @pytest.fixture
    async def session(self, sandbox: Sandbox) -> AsyncIterator[Session]:
        opened = await sandbox.open("G1", "workspace")
        yield opened
        await opened.close()

    async def test_it_proves_itself_by_trying(self, sandbox: Sandbox) -> None:
        await sandbox.check()

        assert sandbox.name

    async def test_what_is_written_is_read_with_line_numbers(self, session: Session) -> None:
        written = await write(session, "notes/a.txt", "one\ntwo\n")

        outcome = await read(session, "notes/a.txt")

        assert written.ok
        assert written.changed
        assert outcome.ok
        assert outcome.text == "1\tone\n2\ttwo\n"
        assert not outcome.changed
        assert outcome.read == {"notes/a.txt": sha256("one\ntwo\n")}

    async def test_a_part_of_a_file_is_read_and_the_rest_named(self, session: Session) -> None:
        await write(session, "a.txt", "".join(f"line {n}\n" for n in range(1, 11)))

        outcome = await read(session, "a.txt", offset=3, limit=2)

        assert outcome.text.startswith("3\tline 3\n4\tline 4\n")
        assert "offset 5" in outcome.text

    async def test_writing_the_same_again_is_no_change(self, session: Session) -> None:
        await write(session, "a.txt", "same")

        outcome = await write(session, "a.txt", "same")

        assert outcome.ok
        assert not outcome.changed

    async def test_a_file_that_is_not_there_is_a_result(self, session: Session) -> None:
        outcome = await read(session, "nowhere.txt")

        assert not outcome.ok
        assert "nowhere.txt" in outcome.text

    @pytest.mark.parametrize("path", ["../out.txt", "a/../../out.txt", "/etc/out.txt", "a\0b"])
    async def test_a_path_out_of_the_workspace_is_refused(
        self, session: Session, path: str
    ) -> None:
        written = await write(session, path, "x")
        outcome = await read(session, path)

        assert not written.ok
        assert not written.changed
        assert not outcome.ok

    async def test_an_edit_needs_exactly_one_match(self, session: Session) -> None:
        await write(session, "a.txt", "x = 1\nx = 1\n")

        twice = await edit(session, "a.txt", "x = 1", "x = 2")
        never = await edit(session, "a.txt", "y", "z")
        each = await edit(session, "a.txt", "x = 1", "x = 2", all=True)

        assert not twice.ok
        assert not never.ok
        assert each.ok
        assert each.changed
        assert (await read(session, "a.txt")).text == "1\tx = 2\n2\tx = 2\n"

    async def test_files_are_found_by_name_and_by_line(self, session: Session) -> None:
        for path in ("b.py", "a/c.py", "a/d.txt"):
            await write(session, path, "needle\nhay\n")

        named = await session.call("glob", {"pattern": "**/*.py"}, timeout_s=LIMIT_S)
        lines = await session.call("grep", {"pattern": "^need", "path": "a"}, timeout_s=LIMIT_S)

        assert named.text.splitlines() == ["a/c.py", "b.py"]
        assert lines.text.splitlines() == ["a/c.py:1: needle", "a/d.txt:1: needle"]

    async def test_a_command_gives_its_output_and_exit_code(self, session: Session) -> None:
        good = await bash(session, "echo hello")
        bad = await bash(session, "exit 3")

        assert good.ok
        assert good.text.strip() == "hello"
        assert good.exit_code == 0
        assert not good.changed
        assert not bad.ok
        assert bad.exit_code == 3

    async def test_a_command_that_writes_has_changed_the_workspace(self, session: Session) -> None:
        outcome = await bash(session, "echo hello > notes/b.txt")

        assert outcome.changed
        assert "hello" in (await read(session, "notes/b.txt")).text

    async def test_the_directory_stays_for_the_next_command(self, session: Session) -> None:
        await bash(session, "cd notes")

        outcome = await bash(session, "pwd")

        assert outcome.text.strip().endswith("/notes")

    async def test_a_command_that_takes_too_long_is_ended(self, session: Session) -> None:
        started = time.monotonic()

        outcome = await bash(session, "sleep 60", timeout_s=0.3)

        assert outcome.timed_out
        assert not outcome.ok
        assert time.monotonic() - started < 5
        assert (await bash(session, "echo on")).text.strip() == "on"

    async def test_a_cancelled_call_is_over_and_the_session_goes_on(self, session: Session) -> None:
        call = asyncio.create_task(bash(session, "sleep 60"))
        await asyncio.sleep(0.2)

        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        assert (await bash(session, "echo on")).text.strip() == "on"

    async def test_a_digest_follows_the_content(self, session: Session) -> None:
        empty = await session.digest()
        await write(session, "a.txt", "1")
        one = await session.digest()
        await write(session, "a.txt", "2")
        two = await session.digest()
        await write(session, "a.txt", "1")

        assert len({empty, one, two}) == 3
        assert await session.digest() == one

    async def test_hashes_are_of_now_and_none_where_a_file_is_gone(self, session: Session) -> None:
        await write(session, "a.txt", "1")

        hashes = await session.hashes(("a.txt", "gone.txt", "../a.txt"))

        assert hashes == {"a.txt": sha256("1"), "gone.txt": None, "../a.txt": None}

    async def test_sessions_have_workspaces_of_their_own(
        self, sandbox: Sandbox, session: Session
    ) -> None:
        await write(session, "a.txt", "mine")
        other = await sandbox.open("G2", "workspace")

        outcome = await read(other, "a.txt")
        await other.close()

        assert not outcome.ok

    async def test_a_workspace_outlives_its_session(self, sandbox: Sandbox) -> None:
        first = await sandbox.open("G3", "workspace")
        await write(first, "a.txt", "kept")
        await first.close()
        await first.close()

        second = await sandbox.open("G3", "workspace")
        outcome = await read(second, "a.txt")
        await second.close()

        assert outcome.text == "1\tkept\n"

    async def test_a_closed_session_takes_no_call(self, sandbox: Sandbox) -> None:
        session = await sandbox.open("G4", "workspace")
        await session.close()

        with pytest.raises(NoSandbox):
            await read(session, "a.txt")

    @pytest.mark.parametrize("name", ["", "..", "a/b", "a\0b"])
    async def test_a_workspace_is_named_by_one_plain_name(
        self, sandbox: Sandbox, name: str
    ) -> None:
        with pytest.raises(NoSandbox):
            await sandbox.open(name, "workspace")

    async def test_calls_at_the_same_time_come_one_after_the_other(self, session: Session) -> None:
        outcomes = await asyncio.gather(
            *(write(session, f"{number}.txt", str(number)) for number in range(20))
        )

        assert all(outcome.ok for outcome in outcomes)
        assert len(await session.hashes(tuple(f"{n}.txt" for n in range(20)))) == 20

    @pytest.mark.parametrize("pieces", [(), (b"a,b\n",), (b"\0\xff" * 700_000, b"end")])
    async def test_a_file_that_is_put_there_is_taken_out_again(
        self, session: Session, pieces: tuple[bytes, ...]
    ) -> None:
        path = await put(session, "inbox/K7Q2/data.bin", *pieces)

        assert path == "inbox/K7Q2/data.bin"
        assert await taken(session, path) == b"".join(pieces)

    async def test_what_is_put_replaces_nothing_and_put_again_it_is_the_same_file(
        self, session: Session
    ) -> None:
        await write(session, "inbox/a.txt", "the agent's own")

        first = await put(session, "inbox/a.txt", b"theirs")
        again = await put(session, "inbox/a.txt", b"theirs")

        assert first == again == "inbox/a-2.txt"
        assert await taken(session, "inbox/a.txt") == b"the agent's own"
        assert (
            await session.call("glob", {"pattern": "**/*"}, timeout_s=LIMIT_S)
        ).text.split() == [
            "inbox/a-2.txt",
            "inbox/a.txt",
        ]

    async def test_what_is_not_what_was_announced_is_not_put(self, session: Session) -> None:
        with pytest.raises(BadInput):
            await session.put("inbox/a.txt", "0" * 64, pieces_of(b"other"))

        with pytest.raises(BadInput):
            await taken(session, "inbox/a.txt")

    async def test_a_file_larger_than_allowed_is_not_taken(self, session: Session) -> None:
        await write(session, "a.txt", "12345")

        with pytest.raises(BadInput, match=r"5.*4"):
            await taken(session, "a.txt", most=4)

    @pytest.mark.parametrize("path", ["none.txt", "../a.txt", "/etc/hostname", "a\0b"])
    async def test_what_is_not_in_the_workspace_is_neither_taken_nor_put(
        self, session: Session, path: str
    ) -> None:
        with pytest.raises(BadInput):
            await taken(session, path)

        if path != "none.txt":
            with pytest.raises(BadInput):
                await put(session, path, b"x")
