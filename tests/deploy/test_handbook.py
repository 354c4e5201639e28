"""
README.md and deploy/README.md do what they say: every block of commands is run, in order, as typed.

A block below a comment `<!-- not run: why -->` is not run; `<!-- run: in the background -->` stays;
`<!-- asks ... -->` is answered on a terminal. `deploy/setup` itself is left out of a line: the gate
begins with it, and tests/deploy/test_setup.py tries it.
"""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from adapters.store.look import look
from bot.settings import Settings, read_settings
from tests.peers.terminal import on_a_terminal
from tests.readme_tables import ENV_EXAMPLE, HANDBOOK, README, ROOT, env_example, written

BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]+?) -->\n)?```sh\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
ANSWERS = (
    ("Number [1]", "3\n"),
    ("all that Headway keeps", "\n"),
    ("may spend", "\n"),
    ("Time zone", "\n"),
    ("Slack channels", "\n"),
    ("Matrix rooms", "\n"),
)
LONGEST_S = 300.0
"""From a clone that is set up to a complete goal, with everything that README.md shows after it."""
SENTENCES = re.compile(r"^\| (?!It says|---)([^|]+?) \|[^|]+\|[^|]+\|$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """Commands, and what the comment above them says of running them."""

    code: str
    mark: str


def blocks(path: Path) -> list[Block]:
    found = BLOCK.finditer(path.read_text("utf-8"))
    return [Block(each["code"], each["mark"] or "") for each in found]


def a_persons_machine(home: Path) -> dict[str, str]:
    """The environment of a home without settings, with a clone in it."""
    clone = home / "headway"
    clone.mkdir()
    for name, target in ((".venv", Path(sys.prefix)), ("deploy", ROOT / "deploy")):
        (clone / name).symlink_to(target)
    foreign = ("HEADWAY_", "ANTHROPIC_", "XDG_", "COLUMNS", "NO_COLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    path = f"{clone}/.venv/bin:{kept['PATH']}"
    return {**kept, "HOME": str(home), "PATH": path, "TERM": "xterm", "NO_PROXY": "127.0.0.1"}


def run_all(path: Path, environment: dict[str, str]) -> list[str]:
    """Run a page's blocks in order, and end what runs in the background; returns what was run."""
    clone = Path(environment["HOME"], "headway")
    behind: list[subprocess.Popen[bytes]] = []
    ran = []
    try:
        for block in blocks(path):
            code = block.code.replace("deploy/setup run ", ".venv/bin/" if path == README else "")
            if block.mark.startswith("not run: "):
                continue
            ran.append(code)
            if block.mark == "run: in the background":
                behind.append(_behind(code, environment, clone))
            elif block.mark.startswith("asks"):
                ended, told = on_a_terminal(
                    ["sh", "-euc", code], environment, ANSWERS, folder=clone
                )
                assert ended == 0, told
            else:
                _run(code, environment, clone)
    finally:
        for process in behind:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(20)
    return ran


def _run(code: str, environment: dict[str, str], folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-euc", code],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}"
    assert "Traceback" not in done.stdout


def _behind(code: str, environment: dict[str, str], folder: Path) -> "subprocess.Popen[bytes]":
    """Start it, and wait until it answers."""
    process = subprocess.Popen(
        ["sh", "-euc", f"exec {code}"], env=environment, cwd=folder, stdin=subprocess.DEVNULL
    )
    until = time.monotonic() + 30
    asked = [str(folder / ".venv/bin/headway"), "status", "--json"]
    while subprocess.run(asked, env=environment, capture_output=True, check=False).returncode:
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < until, "it does not answer"
        time.sleep(0.2)
    return process


@pytest.mark.process
@pytest.mark.sandbox
@pytest.mark.timeout(LONGEST_S)
def test_a_person_comes_by_readme_alone_from_init_to_a_complete_goal(tmp_path: Path) -> None:
    ran = run_all(README, a_persons_machine(tmp_path))

    assert [code for code in ran if "init" in code]
    assert [code for code in ran if "--until-settled" in code]
    [haiku] = tmp_path.glob(".local/state/headway/workspaces/*/tides.txt")
    assert "tide" in haiku.read_text()


@pytest.mark.process
@pytest.mark.sandbox
@pytest.mark.timeout(300)
def test_every_command_of_the_handbook_works(tmp_path: Path) -> None:
    ran = run_all(HANDBOOK, a_persons_machine(tmp_path))

    assert len(ran) > 10
    state = tmp_path / ".local/state/headway"
    assert look(f"sqlite:///{state / 'headway.db'}", state_dir=state).is_there


@pytest.mark.parametrize("path", [README, HANDBOOK], ids=lambda path: str(path.relative_to(ROOT)))
def test_a_block_that_is_not_run_says_why(path: Path) -> None:
    marks = [block.mark for block in blocks(path) if block.mark]

    allowed = re.compile(r"not run: \S+ .{5,}|run: in the background|asks .+|ends: .+")
    assert [mark for mark in marks if not allowed.fullmatch(mark)] == []
    assert len(blocks(path)) == path.read_text("utf-8").count("```sh")


@pytest.mark.parametrize("path", [HANDBOOK], ids=["deploy/README.md"])
def test_the_tables_are_those_of_the_source(path: Path) -> None:
    assert written(path.read_text("utf-8")) == path.read_text("utf-8"), (
        "run `python -m tests.readme_tables`"
    )


def test_the_example_of_variables_is_that_of_the_source() -> None:
    assert ENV_EXAMPLE.read_text("utf-8") == env_example(), "run `python -m tests.readme_tables`"


def test_the_example_holds_every_setting_and_only_defaults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [*os.environ]:
        if name.startswith(("HEADWAY_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    wanted = read_settings().model_dump()
    lines = re.findall(r"^#(HEADWAY_\w+)=(.*)$", ENV_EXAMPLE.read_text("utf-8"), re.MULTILINE)

    for name, value in lines:
        if value:
            monkeypatch.setenv(name, value)

    assert [name for name, _ in lines] == [f"HEADWAY_{n.upper()}" for n in Settings.model_fields]
    assert read_settings().model_dump() == wanted


def test_the_incidents_are_sentences_that_the_product_prints() -> None:
    section = HANDBOOK.read_text("utf-8").split("## Incidents, by what it says")[1]
    said = SENTENCES.findall(section.split("\n## ")[0])
    source = " ".join(
        path.read_text("utf-8")
        for folder in ("bot", "adapters", "scheduler")
        for path in (ROOT / folder).rglob("*.py")
    )
    joined = re.sub(r'"\s*\n?\s*f?"', "", source)

    assert len(said) >= 15
    assert [words for words in said if not _is_printed(words, joined)] == []


def _is_printed(words: str, source: str) -> bool:
    """As it stands, or put together at run time: `answered KIND (HTTP STATUS`."""
    if made := re.fullmatch(r"The model endpoint answered ([\w ]+) \(HTTP (\d+)", words):
        return f'{made[2]}: "{made[1].replace(" ", "_")}"' in source
    return words in source


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)\)", HANDBOOK.read_text()))))
def test_a_link_leads_somewhere(link: str) -> None:
    assert (HANDBOOK.parent / link).exists()
