"""How the repository is laid out, packaged and set up; a gate for what no other tool looks at."""

import ast
import re
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("adapters", "bot", "scheduler")
TOP = {*PACKAGES, "tests", "deploy", "pyproject.toml", "README.md", "LICENSE"}

FUNCTION_LINES = 60
MODULE_LINES = 400

# Modules above the limit that were looked at hard, and why they stay whole.
LONG_MODULES: dict[str, str] = {
    "adapters/store/migrations/versions/rev_0001_first_schema.py": "every table, once, as Alembic writes it",
}

LOCKS = {
    "run": ([], ["build"]),
    "cloud": (["bedrock", "vertex"], ["build"]),
    "dev": (["bedrock", "vertex"], ["build", "dev"]),
    "bench": (["bedrock", "vertex"], ["build", "dev", "bench"]),
}

# What programs of the tests that are no part of the project are installed from.
PEERS = ("synapse", "mautrix", "node")

# Put together so that this file does not hold what it looks for.
FOREIGN = {
    "the address of a package registry": re.compile(
        r"https?://[^\s\"']*(" + r"pypi|python" + r"hosted|npm" + r"js|debian\.org)", re.IGNORECASE
    ),
    "a path of one machine": re.compile("|".join(["/work" + "/", "/ro" + "ot/", "/opt/" + "pypi"])),
    "a mocking library": re.compile("unittest" + r"\.mock|from unittest " + "import mock"),
}


def tracked() -> list[Path]:
    names = _git("ls-files", "-z").split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def sources() -> Iterator[Path]:
    for path in tracked():
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in PACKAGES:
            yield path


def shell_scripts() -> list[Path]:
    return [path for path in tracked() if _first_line(path) == "#!/bin/sh"]


def test_nothing_else_is_visible_at_the_top() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in tracked()}

    visible = {name for name in names if not name.startswith(".")}

    assert visible <= TOP
    assert visible >= {*PACKAGES, "tests", "deploy", "pyproject.toml", "LICENSE"}


def test_the_readme_shows_the_two_commands_on_its_first_screen() -> None:
    readme = ROOT / "README.md"

    first_screen = "\n".join(readme.read_text(encoding="utf-8").splitlines()[:30])

    assert "deploy/demo" in first_screen
    assert "deploy/test" in first_screen


@pytest.mark.parametrize("what", FOREIGN)
def test_no_tracked_file_holds(what: str) -> None:
    held = FOREIGN[what]

    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked()
        for number, line in enumerate(_text(path).splitlines(), 1)
        if held.search(line) and not _bans(line)
    ]

    assert found == []


def test_the_license_is_the_whole_of_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")

    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_distribution_cannot_be_uploaded() -> None:
    project = _pyproject()["project"]

    assert project["name"] == "headway"
    assert "Private :: Do Not Upload" in project["classifiers"]


def test_the_built_wheel_holds_our_three_packages_and_one_command(tmp_path: Path) -> None:
    [artifact] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])

    with zipfile.ZipFile(artifact) as wheel:
        tops = {name.split("/")[0] for name in wheel.namelist()}
        [metadata] = [name for name in tops if name.endswith(".dist-info")]
        commands = wheel.read(f"{metadata}/entry_points.txt").decode()
    assert tops - {metadata} == set(PACKAGES)
    assert commands.split() == ["[console_scripts]", "headway", "=", "bot.cli:main"]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_top_level_name_is_taken_by_no_dependency(package: str) -> None:
    owners = set(packages_distributions().get(package, []))

    assert owners <= {"headway"}


@pytest.mark.parametrize("shell", ["sh", "dash", "bash"])
def test_the_scripts_are_posix(shell: str) -> None:
    scripts = shell_scripts()

    outcomes = {
        script.name: subprocess.run(
            [shell, "-n", str(script)], capture_output=True, text=True, check=False
        ).stderr
        for script in scripts
    }

    assert {"setup", "demo", "test", "bench", "lock"} <= set(outcomes)
    assert set(outcomes.values()) == {""}


def test_the_scripts_can_be_run() -> None:
    listing = _git("ls-files", "-s", "deploy", ".ci").splitlines()
    modes = {line.split("\t")[1]: line.split()[0] for line in listing}

    scripts = [*shell_scripts(), ROOT / ".ci/run"]

    assert {modes[str(script.relative_to(ROOT))] for script in scripts} == {"100755"}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_by_hash_what_the_project_asks_for(lock: str) -> None:
    extras, groups = LOCKS[lock]

    pins = _pins(ROOT / "deploy" / f"{lock}.lock")

    for requirement in _requirements(extras, groups):
        assert requirement.name in pins, f"{requirement} is not in {lock}.lock; run deploy/lock"
        version = pins[requirement.name]
        assert requirement.specifier.contains(version), f"{requirement}; run deploy/lock"


def test_the_locks_agree_with_each_other() -> None:
    widest = _pins(ROOT / "deploy/bench.lock")

    for lock in LOCKS:
        assert _pins(ROOT / "deploy" / f"{lock}.lock").items() <= widest.items()


@pytest.mark.parametrize("peer", PEERS)
def test_an_environment_of_the_tests_own_is_pinned_by_hash(peer: str) -> None:
    wishes = (ROOT / "deploy" / f"{peer}.in").read_text(encoding="utf-8")

    pins = _pins(ROOT / "deploy" / f"{peer}.lock")

    for requirement in map(Requirement, wishes.splitlines()):
        assert requirement.specifier.contains(pins[requirement.name]), "run deploy/lock"


def test_every_module_of_bot_stands_in_the_import_chain() -> None:
    contracts = _pyproject()["tool"]["importlinter"]["contracts"]
    [chain] = [contract for contract in contracts if contract["id"] == "chain"]
    layers = {name.strip("() ") for layer in chain["layers"] for name in layer.split("|")}

    modules = {
        path.relative_to(ROOT / "bot").parts[0].removesuffix(".py")
        for path in sources()
        if path.is_relative_to(ROOT / "bot")
    }

    assert {f"bot.{name}" for name in modules - {"__init__", "__main__"}} <= layers


def test_a_function_fits_on_a_screen() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {length} lines"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]

    assert long == []


def test_a_long_module_was_looked_at() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources()
    }

    long = {name: lines for name, lines in lengths.items() if lines > MODULE_LINES}

    assert long.keys() <= LONG_MODULES.keys(), f"split, or say why not in LONG_MODULES: {long}"


def test_every_measurement_has_a_name_of_its_own() -> None:
    benches = sorted((ROOT / "tests/bench").glob("bench_*.py"))

    names = [
        match.group(1)
        for bench in benches
        if (match := re.search(r'^NAME(?:: str)? = "(.+)"$', _text(bench), re.MULTILINE))
    ]

    assert len(names) == len(benches)
    assert len(set(names)) == len(names)


def _git(*words: str) -> str:
    """Ask git about this clone, whoever owns it."""
    command = ["git", "-c", f"safe.directory={ROOT}", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _pyproject() -> dict:  # type: ignore[type-arg]
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _requirements(extras: list[str], groups: list[str]) -> Iterator[Requirement]:
    tables = _pyproject()
    yield from map(Requirement, tables["project"]["dependencies"])
    for extra in extras:
        yield from map(Requirement, tables["project"]["optional-dependencies"][extra])
    for group in groups:
        yield from map(Requirement, tables["dependency-groups"][group])


def _pins(lock: Path) -> dict[str, str]:
    """Return the pinned version by name; raises AssertionError at a pin without a hash."""
    pins = {}
    for block in re.split(r"\n(?=[a-z0-9])", lock.read_text(encoding="utf-8")):
        if found := re.match(r"([a-z0-9.-]+)==([^\s;]+)", block):
            assert "--hash=sha256:" in block, f"{found[0]} in {lock.name} has no hash"
            pins[found[1]] = found[2]
    return pins


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def _first_line(path: Path) -> str:
    return _text(path).split("\n", 1)[0]


def _bans(line: str) -> bool:
    """The lint rule that bans a name has to name it."""
    return line.rstrip().endswith('tests/doubles."')
