"""What the command line asks of the part that serves Slack; and a loss that is stored before it is made."""

from pathlib import Path

import pytest

from bot.chat.operations import Operations
from bot.errors import StoreBusy
from bot.ports.chat import Arrival, Place, RoomLost
from bot.ports.installs import Install
from bot.ports.positions import Position
from bot.wiring.charge import Charge
from bot.wiring.slack_desk import SlackDesk, SlackSight, TokenWatch
from tests.bot.chat.conftest import Bench
from tests.doubles.clock import HandClock
from tests.doubles.installs import MemoryInstalls


class Heard:
    """A receive that keeps what it is given, or dies."""

    def __init__(self) -> None:
        self.lost: list[RoomLost] = []
        self.dies = False

    async def __call__(self, *arrivals: Arrival, upto: Position | None = None) -> None:
        """Keep it."""
        if self.dies:
            raise StoreBusy("The database is locked. It is tried again.")
        self.lost += [one for one in arrivals if isinstance(one, RoomLost)]


@pytest.fixture
async def installs() -> MemoryInstalls:
    made = MemoryInstalls(HandClock())
    await made.keep(Install("slack", "T01", "A01", "U0BOT", "One", (), "xoxb-one"))
    return made


async def test_what_is_forgotten_is_lost_first_and_then_erased(installs: MemoryInstalls) -> None:
    heard = Heard()

    told = await SlackDesk(installs, heard, HandClock())({"do": "slack.forget", "workspace": "T01"})

    assert told == {"erased": True}
    assert [(one.place.workspace, one.place.room, one.how) for one in heard.lost] == [
        ("T01", "", "uninstalled")
    ]
    assert installs.rows == {}


async def test_a_loss_that_cannot_be_stored_erases_nothing(installs: MemoryInstalls) -> None:
    heard = Heard()
    heard.dies = True

    with pytest.raises(StoreBusy):
        await SlackDesk(installs, heard, HandClock())({"do": "slack.forget", "workspace": "T01"})

    assert len(installs.rows) == 1


async def test_it_says_who_serves_and_what_was_heard(installs: MemoryInstalls) -> None:
    sight = SlackSight(lambda: {"T01": "It is not renewed."}, {"message.im": 5.0})
    desk = SlackDesk(installs, Heard(), HandClock(7.0), Charge(is_held=True), sight)

    told = await desk({"do": "slack.status"})

    assert told == {
        "serves": True,
        "since": 7.0,
        "troubles": {"T01": "It is not renewed."},
        "others": 0,
        "heard": {"message.im": 5.0},
    }
    assert await desk({"do": "ping"}) is None


async def test_a_command_that_took_the_folder_serves_nothing(installs: MemoryInstalls) -> None:
    told = await SlackDesk(installs, Heard(), HandClock())({"do": "slack.status"})

    assert told is not None
    assert told["serves"] is False


async def test_a_token_that_is_not_renewed_is_an_incident_once_and_its_end_too(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    operations = Operations(
        bench.store.incidents, bench.manner, Place("console", "", "console"), bench.clock
    )
    troubles = {"T01": "The token of One is not renewed."}
    charge = Charge(is_held=True)
    watch = TokenWatch(SlackSight(lambda: troubles), operations, charge)

    await watch.look()
    await watch.look()
    charge.drop()
    troubles = {}
    await watch.look()
    standing_by = len(operations.open)
    charge.is_held = True
    await watch.look()
    await watch.look()
    await bench.deliver()

    assert standing_by == 1
    assert bench.answers() == [
        "⚠ Incident: The token of One is not renewed.",
        "✔ Over: the token of T01 is good again; what waited is sent.",
    ]


async def test_an_app_that_two_processes_hear_is_an_incident_once_and_its_end_too(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    operations = Operations(
        bench.store.incidents, bench.manner, Place("console", "", "console"), bench.clock
    )
    others = 2
    sight = SlackSight(others=lambda: others)
    watch = TokenWatch(sight, operations, Charge(is_held=True))

    await watch.look()
    await watch.look()
    others = 0
    await watch.look()
    await watch.look()
    await bench.deliver()

    first, last = bench.answers()
    assert first.startswith("⚠ Incident: another process has sockets of the Slack app open, too (2")
    assert last == "✔ Over: nobody else has sockets of the Slack app open."
