"""The room on a terminal: keys in, a screen out."""

import asyncio
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from adapters.console.render import lines, post, status, words
from adapters.console.room import RoomFile, room_path
from adapters.console.seat import Seat
from adapters.console.terminal import Terminal, _fitted, _shortened
from bot.chat.parse import opens_thread
from bot.chat.texts import Texts
from bot.ports.chat import Button, Shape
from tests.bot.chat.conftest import ANN, Bench
from tests.bot.chat.turns import complete

TEXTS = Texts()
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen:
    """A terminal of 90 columns whose keys a test presses."""

    def __init__(self, keys: PipeInput, shown: io.StringIO) -> None:
        self.keys = keys
        self._shown = shown

    @property
    def text(self) -> str:
        """All that was ever drawn, without colours and cursor moves."""
        return ESCAPES.sub("", self._shown.getvalue())

    async def until(self, words: str) -> None:
        """Wait until the words were drawn."""
        try:
            async with asyncio.timeout(10):
                while words not in self.text:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            pytest.fail(f"{words!r} was not drawn, but {self.text!r}")


@pytest.fixture
def screen() -> Iterator[Screen]:
    shown = io.StringIO()
    output = Vt100_Output(shown, lambda: Size(rows=40, columns=90), enable_cpr=False)
    with create_pipe_input() as keys, create_app_session(input=keys, output=output):
        yield Screen(keys, shown)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def a_terminal(bench: Bench) -> Terminal:
    async def say(text: str, thread: str) -> str:
        id = await bench.console.say(ANN, text, thread)
        await bench.deliver()
        return id

    file = RoomFile(room_path(bench.folder))
    seat = Seat(file, say, lambda text: opens_thread(text, TEXTS), TEXTS)
    return Terminal(seat, ["pause", "status", "stop"])


async def test_a_goal_is_typed_and_its_status_is_drawn_in_place(
    bench: Bench, screen: Screen
) -> None:
    talk = asyncio.create_task(a_terminal(bench).run(bench.deliver, "Bye."))

    screen.keys.send_text("/goal write a haiku\r")
    await screen.until("👀 taken")
    bench.clock.move(6)
    await bench.deliver()
    await screen.until("⏳ Queued · G1")
    screen.keys.send_text("pause\r")
    await screen.until("G1 is paused.")
    await screen.until("Paused · G1")
    screen.keys.send_text("/quit\r")

    assert await asyncio.wait_for(talk, 10) == 0
    assert "Bye." in screen.text


async def test_a_thread_that_is_entered_shows_what_was_said_last_in_it(
    bench: Bench, screen: Screen
) -> None:
    _, goal = await bench.start("write a haiku")
    await complete(bench, goal, "three lines about tides")
    await bench.deliver()
    talk = asyncio.create_task(a_terminal(bench).run(bench.deliver, "Bye."))

    screen.keys.send_text("/enter G1\r")
    await screen.until("three lines about tides")
    screen.keys.send_text("/quit\r")

    assert await asyncio.wait_for(talk, 10) == 0


async def test_end_of_input_leaves(bench: Bench, screen: Screen) -> None:
    talk = asyncio.create_task(a_terminal(bench).run(bench.deliver, "Bye."))

    screen.keys.send_text("\x04")

    assert await asyncio.wait_for(talk, 10) == 0


async def test_an_interrupt_clears_the_line_first_and_then_leaves(
    bench: Bench, screen: Screen
) -> None:
    talk = asyncio.create_task(a_terminal(bench).run(bench.deliver, "Bye."))

    screen.keys.send_text("half a thought")
    await screen.until("half a thought")
    screen.keys.send_text("\x03")
    await asyncio.sleep(0.2)
    was_open = not talk.done()
    screen.keys.send_text("\x03")

    assert await asyncio.wait_for(talk, 10) == 0
    assert was_open
    assert await bench.store.inbox.waiting() == ()


def test_a_button_shows_what_to_type() -> None:
    buttons = (Button("pause", "Pause"), Button("trace", "Details"), Button("", "In words"))

    assert words(buttons) == "[Pause] [Details: trace] [In words]"


def test_a_status_is_cut_to_the_width() -> None:
    shape = Shape("⏳", "Working", ("G1",), body="tides " * 50, now="Now: " + "x" * 200)

    drawn = status(shape, 60).plain.split("\n")

    assert len(drawn) == 3
    assert all(len(line) < 60 for line in drawn)


def test_a_post_without_a_head_is_its_text_alone() -> None:
    from rich.console import Console

    shown = io.StringIO()
    Console(file=shown, width=40).print(post(Shape("", "", body="It is **done**.")))

    assert shown.getvalue().strip() == "It is done."
    assert lines(Shape("", "", body="It is done.")) == "It is done."


@pytest.mark.parametrize(
    ("width", "shown"),
    [(99, "one · two · three"), (14, "one · three"), (3, "one · three")],
)
def test_a_hint_loses_its_middle_where_the_screen_is_narrow(width: int, shown: str) -> None:
    assert _fitted("one · two · three", width) == shown


def test_a_thread_without_a_name_is_called_by_its_beginning() -> None:
    assert _shortened("what is\nthe time") == "what is the time"
    assert _shortened("what is the time in the whole world") == "what is the time in the…"
