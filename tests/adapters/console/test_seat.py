"""A seat in the room, and the room through pipes."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import pytest

from adapters.console.pipes import REFUSED_CODE, converse
from adapters.console.room import RoomFile, room_path
from adapters.console.seat import Seat
from bot.chat.parse import opens_thread
from bot.chat.texts import Texts
from bot.goals.events import Cancelled, DecisionAsked
from bot.goals.goal import Goal
from bot.ports.journal import content_hash
from tests.bot.chat.conftest import ANN, Bench
from tests.bot.chat.turns import began, complete

TEXTS = Texts()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def seat(bench: Bench) -> Seat:
    async def say(text: str, thread: str) -> str:
        return await bench.console.say(ANN, text, thread)

    file = RoomFile(room_path(bench.folder))
    return Seat(file, say, lambda text: opens_thread(text, TEXTS), TEXTS)


async def test_an_objective_moves_the_seat_into_its_thread(seat: Seat, bench: Bench) -> None:
    await seat.typed("/goal write a haiku")
    await bench.deliver()

    assert seat.thread == seat.mine[0]
    assert (await bench.goal(seat.thread)).number == 1


async def test_a_command_in_the_room_leaves_the_seat_where_it_is(seat: Seat) -> None:
    await seat.typed("/goal list")

    assert seat.thread == ""


async def test_threads_are_entered_by_name_and_left(seat: Seat, bench: Bench) -> None:
    thread, _ = await bench.start("write a haiku")
    bench.clock.move(6)
    await bench.deliver()
    list(seat.news())

    listed = await seat.typed("/threads")
    entered = await seat.typed("/enter g1")
    inside = seat.thread
    await seat.typed("/back")

    assert listed == "G1  Queued  write a haiku"
    assert entered == "In the thread of G1."
    assert inside == thread
    assert seat.thread == ""
    assert await seat.typed("/enter G9") == "There is no thread G9. `/threads` shows them."


async def test_what_belongs_to_the_screen_never_leaves_it(seat: Seat, bench: Bench) -> None:
    for line in ("/threads", "/enter G1", "/back", "/nonsense", "", "/quit"):
        await seat.typed(line)

    assert seat.mine == []
    assert seat.is_done


async def test_the_words_of_this_seat_are_not_shown_back(seat: Seat, bench: Bench) -> None:
    await seat.typed("hello")
    await bench.console.say(ANN, "from another window")

    said = [str(seen.line.message.text) for seen in seat.news() if hasattr(seen.line, "message")]

    assert said == ["from another window"]


async def test_a_terminal_obeys_nothing_that_others_wrote(seat: Seat, bench: Bench) -> None:
    _, goal = await bench.start("write a haiku")
    await complete(bench, goal, "tides\x1b[2J\x1b]0;owned\x07 rise\x9b31m")
    await bench.deliver()

    _, text = await talk(seat, bench, b"", until_settled=False)

    assert "tides�[2J" in text
    assert not set(text) & {"\x1b", "\x07", "\x9b"}


async def talk(
    seat: Seat,
    bench: Bench,
    typed: bytes,
    *,
    until_settled: bool,
    settle: Callable[[], Awaitable[None]] | None = None,
    is_taken: bool = False,
) -> tuple[int, str]:
    async def told(messages: Collection[str]) -> bool:
        return is_taken

    out = io.StringIO()
    code = await converse(
        seat,
        io.BytesIO(typed),
        out,
        until_settled=until_settled,
        settle=settle or bench.deliver,
        is_taken=told,
    )
    return code, out.getvalue()


async def test_lines_in_and_posts_out(seat: Seat, bench: Bench) -> None:
    code, text = await talk(seat, bench, b"hello\n/goal list\n", until_settled=False)

    assert code == 0
    assert "Hello. To start a goal" in text
    assert "No live goals here." in text


async def test_a_watch_ends_with_the_input_where_nothing_was_started(
    seat: Seat, bench: Bench
) -> None:
    talking = talk(seat, bench, b"/goal list\n", until_settled=True)

    code, text = await asyncio.wait_for(talking, 10)

    assert code == 0
    assert "No live goals here." in text


async def _nothing_comes() -> None:
    await asyncio.sleep(0)


async def test_a_watch_ends_by_2_where_nothing_came_of_what_was_said(
    seat: Seat, bench: Bench
) -> None:
    talking = talk(seat, bench, b"/goal tides\n", until_settled=True, settle=_nothing_comes)

    code, _ = await asyncio.wait_for(talking, 10)

    assert code == REFUSED_CODE


async def test_a_goal_that_has_not_posted_yet_is_waited_for(seat: Seat, bench: Bench) -> None:
    talking = talk(
        seat, bench, b"/goal tides\n", until_settled=True, settle=_nothing_comes, is_taken=True
    )

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(talking, 0.5)


async def test_bytes_that_are_no_text_get_a_sentence(seat: Seat, bench: Bench) -> None:
    _, text = await talk(seat, bench, b"/goal caf\xe9\n", until_settled=False)

    assert "Send it as UTF-8." in text


@pytest.mark.parametrize(
    ("ending", "code", "shown"),
    [
        ("complete", 0, "✅ Complete · G1"),
        ("blocked", 3, "⛔ Blocked · G1"),
        ("cancelled", 5, ""),
        ("asks", 6, "❓ Decision 1 · G1"),
    ],
)
async def test_the_end_of_a_goal_is_the_exit_code(
    seat: Seat, bench: Bench, ending: str, code: int, shown: str
) -> None:
    await seat.typed("/goal write a haiku")
    await bench.deliver()
    goal = await bench.goal(seat.thread)
    bench.clock.move(6)
    await bench.deliver()
    await come_to(bench, goal, ending)
    await bench.deliver()

    async with asyncio.timeout(5):
        got, text = await talk(seat, bench, b"", until_settled=True)

    assert got == code
    assert shown in text


async def come_to(bench: Bench, goal: Goal, ending: str) -> None:
    from bot.goals.events import TurnEnded

    if ending == "complete":
        await complete(bench, goal)
    elif ending == "blocked":
        await bench.happens(goal, *began(goal), TurnEnded("failed", failed="refusal"))
    elif ending == "cancelled":
        await bench.happens(goal, Cancelled("p1"))
    else:
        asked = DecisionAsked("d1", "question", content_hash("Which?"), "t1")
        ends = (*began(goal), asked, TurnEnded("done"))
        await bench.happens(goal, *ends, contents=["Which?"])
