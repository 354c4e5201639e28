"""
local-slack's page in Chromium, as a person uses it who types, clicks and fills in.

with page(front) as browser:
    browser.type("/goal tidy up")
    browser.thread("tidy up")
    browser.press("Pause")

Chromium comes from the machine, or with apt where that is allowed (`tests.peers.hydrogen.browser`).
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.peers.hydrogen import SHOTS, browser
from tests.peers.node import node
from tests.peers.slack_front import SlackFront
from tests.peers.slack_schemas import HERE, javascript

END_S: Final = 20.0
MAIN, THREAD, MODAL, HOME = ".main", ".thread-pane", ".modal", ".home"


@dataclass
class Page:
    """A browser that shows the page."""

    process: "subprocess.Popen[str]"

    def go(self, to: str) -> None:
        """Open a channel, or the bot's home, by its name in the sidebar."""
        self._do("go", to=to)

    def type(self, words: str, within: str = MAIN) -> None:
        """Write and send."""
        self._do("type", words=words, within=within)

    def thread(self, words: str) -> None:
        """Open the thread under the message that holds these words."""
        self._do("thread", words=words)

    def press(self, label: str, within: str = THREAD) -> None:
        """Press the last button with this label."""
        self._do("press", label=label, within=within)

    def fill(self, label: str, words: str) -> None:
        """Write into an input of the window that is open."""
        self._do("fill", label=label, words=words)

    def choose(self, label: str, option: str) -> None:
        """Choose in an input of the window that is open."""
        self._do("choose", label=label, option=option)

    def see(self, words: str, within: str = "body") -> None:
        """Wait until it reads so."""
        self._do("see", words=words, within=within)

    def gone(self, within: str) -> None:
        """Wait until a part of the page is not there."""
        self._do("gone", within=within)

    def shot(self, name: str) -> None:
        """Take a picture, below `tests/journeys/shots`."""
        SHOTS.mkdir(exist_ok=True)
        self._do("shot", out=str(SHOTS / f"{name}.png"))

    def text(self, within: str = "body") -> str:
        """What can be read of a part of the page."""
        return str(self._do("text", within=within))

    def _do(self, step: str, **more: str) -> object:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": step, **more}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "The browser ended."
        answer = json.loads(line)
        assert "error" not in answer, f"{step} {more}: {answer['error']}\n{answer['text']}"
        found: object = answer["is"]
        return found


@contextmanager
def page(front: SlackFront) -> Iterator[Page]:
    """The page, open in the first channel as Alice. Raises AssertionError without a Chromium."""
    program = browser()
    assert program is not None, "There is no Chromium here, and no right to install it."
    command: list[str | Path] = [node(), HERE / "page.mjs", javascript(), program, front.url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        opened = Page(process)
        try:
            opened._do("open")
            yield opened
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(END_S)
