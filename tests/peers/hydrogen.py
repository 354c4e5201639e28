"""
Hydrogen, a Matrix client that people use, as a page in Chromium.

The page is built once from the packages of `tests/peers/matrix`. Chromium and a font with colour
emoji come from the machine, or with apt where that is allowed; without them there is no picture,
which `browser` says. Hydrogen shows edits below what they edit and threads as replies.
"""

import functools
import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.peers import beds
from tests.peers.matrix_user import HERE, javascript
from tests.peers.node import node
from tests.peers.synapse import Account, Synapse

SHOT_S: Final = 100.0
SHOTS: Final = beds.ROOT / "tests" / "journeys" / "shots"
_FONT: Final = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")
_PACKAGES: Final = ("chromium", "fonts-noto-color-emoji")


def browser() -> str | None:
    """The path of Chromium, installed with apt where it is missing and root asks; else None.

    Raises:
        RuntimeError: apt failed.
    """
    if not (_chromium() and _FONT.exists()) and os.geteuid() == 0 and shutil.which("apt-get"):
        with beds.alone("chromium"):
            if not (_chromium() and _FONT.exists()):
                _install()
    return _chromium()


@contextmanager
def page() -> Iterator[str]:
    """The address of Hydrogen's page on this machine, for as long as a `with` lasts."""
    handler = functools.partial(_Quiet, directory=str(built()))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def shot(
    server: Synapse, account: Account, room: str, words: str, name: str,
    meanwhile: Callable[[], None] = lambda: None,
) -> str:  # fmt: skip
    """Take a picture of a room as somebody sees it; returns the timeline's text.

    Args:
        room: its name, as the list of rooms shows it.
        words: what has to be on the timeline first.
        name: of the picture, below `tests/journeys/shots`.
        meanwhile: what happens once the room is open; a new device reads nothing older that is
            encrypted.
    """
    SHOTS.mkdir(exist_ok=True)
    with page() as address:
        wish = {
            "chromium": browser(), "page": address, "homeserver": server.url,
            "user": account.user_id, "password": account.password, "room": room, "words": words,
            "out": str(SHOTS / f"{name}.png"),
        }  # fmt: skip
        with subprocess.Popen(
            [node(), HERE / "hydrogen.mjs", "shot", javascript(), json.dumps(wish)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            if process.stdout.readline() == "open\n":
                meanwhile()
            shown, errors = process.communicate(timeout=SHOT_S)
    assert process.returncode == 0, errors[-2000:]
    return shown


def built() -> Path:
    """The folder of the page. Raises RuntimeError where it could not be built."""

    def build(folder: Path) -> None:
        command: list[str | Path] = [node(), HERE / "hydrogen.mjs", "build", javascript(), folder]
        beds.run(command, folder, "Building Hydrogen's page")

    return beds.bed("hydrogen", HERE / "hydrogen_app.js", build)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of requests."""


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def _install() -> None:
    beds.say("Installing Chromium and a font with emoji, for pictures ...")
    beds.install(_PACKAGES)
