"""Nothing gets out: as whoever runs the tests, and as nobody when that is root."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from tests.adapters.sandbox.escapes import ESCAPES
from tests.adapters.sandbox.prison import Prison, prison

ROOT = Path(__file__).resolve().parents[3]
NOBODY = 65534

pytestmark = pytest.mark.sandbox


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[Prison]:
    async with prison(tmp_path) as made:
        yield made


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that another user can reach, with the sandbox's sources in it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for part in ("adapters/sandbox", "bot/ports", "tests/adapters/sandbox"):
            shutil.copytree(ROOT / part, folder / part)
        for part in ("adapters", "bot", "tests", "tests/adapters"):
            shutil.copy(ROOT / part / "__init__.py", folder / part)
        shutil.copy(ROOT / "bot/errors.py", folder / "bot")
        state = folder / "state"
        state.mkdir()
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)
        os.chown(state, NOBODY, NOBODY)
        yield folder


@pytest.mark.parametrize("escape", ESCAPES)
async def test_the_sandbox_keeps_from(held: Prison, escape: str) -> None:
    outcome = await held.attempt(escape)
    after = await held.session.call("bash", {"command": "echo alive"}, timeout_s=20)

    assert "ESCAPED" not in outcome.text
    assert after.text == "alive"


async def test_system_calls_are_filtered_where_the_library_is_there(held: Prison) -> None:
    command = {"command": "grep -c 'Seccomp:.*2' /proc/self/status"}
    outcome = await held.session.call("bash", command, timeout_s=20)

    assert isinstance(held.sandbox, Bubblewrap)
    assert (outcome.text.strip() == "1") == held.sandbox.has_filter


@pytest.mark.skipif(os.getuid() != 0, reason="the other tests here have run as nobody special")
def test_nothing_escapes_from_the_sandbox_of_an_unprivileged_user(open_to_all: Path) -> None:
    done = subprocess.run(
        [_python_for_all(), "-m", "tests.adapters.sandbox.prison", str(open_to_all / "state")],
        cwd=open_to_all,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}


def _python_for_all() -> str:
    """An interpreter of at least 3.11 that nobody may run."""
    names = [f"python3.{minor}" for minor in (11, 12, 13, 14)]
    found = [shutil.which(name, path="/usr/local/bin:/usr/bin") for name in names]
    for python in [os.path.join(sys.base_prefix, "bin", "python3"), *filter(None, found)]:
        probe = [python, "-I", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        try:
            done = subprocess.run(
                probe, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=False
            )
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.fail("No Python of this machine may be run by nobody: install Debian's python3 (3.11+).")
