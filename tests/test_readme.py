"""README.md says what is true now: its tables, its commands, its links."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from bot.cli import app
from tests.readme_tables import HANDBOOK, README, TABLES, written

ROOT = README.parent
TEXT = README.read_text("utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.strip()]
LINES_MOST = 200


def test_the_tables_are_those_of_the_source() -> None:
    now = written(TEXT)

    assert now == TEXT, "run `python -m tests.readme_tables`"
    both = TEXT + HANDBOOK.read_text("utf-8")
    assert set(re.findall(r"<!-- table: (\w+) -->", both)) == set(TABLES)


def test_it_can_be_read_in_one_go() -> None:
    assert len(TEXT.splitlines()) <= LINES_MOST


def test_demo_tests_and_measurements_come_first_each_in_a_block_of_its_own() -> None:
    first_screen = "\n".join(TEXT.splitlines()[:30])

    assert BLOCKS[:3] == ["deploy/demo\n", "deploy/test\n", "deploy/bench\n"]
    assert first_screen.index("deploy/demo") < first_screen.index("deploy/test")


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_commands_is_good_shell(block: str) -> None:
    read = subprocess.run(["sh", "-n"], input=block, capture_output=True, text=True, check=False)

    assert (read.returncode, read.stderr) == (0, "")


@pytest.mark.parametrize("command", [line for line in COMMANDS if "headway" in line])
def test_a_command_shown_is_one_that_the_program_takes(command: str) -> None:
    words = [word for word in shlex.split(command, comments=True) if "=" not in word]
    program, *arguments = words[2:] if words[:2] == ["deploy/setup", "run"] else words

    shown, context = get_command(app), None
    while hasattr(shown, "get_command"):
        context = shown.make_context("headway", [], parent=context, resilient_parsing=True)
        name, *arguments = arguments
        shown = shown.get_command(context, name)
        assert shown is not None, f"there is no `headway {name}`"

    assert Path(program).name == "headway"
    shown.make_context("headway", list(arguments), parent=context, resilient_parsing=True)
    takes = {option for parameter in shown.params for option in parameter.opts}
    assert {word for word in arguments if word.startswith("--")} <= takes


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("deploy/")])
def test_a_script_shown_is_there_and_can_be_run(command: str) -> None:
    script = ROOT / command.split(maxsplit=1)[0]

    assert script.stat().st_mode & 0o111


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)\)", TEXT))))
def test_a_link_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()
