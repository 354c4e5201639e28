"""Windows that people open, fill in and send."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from adapters.slack.ear import Ear
from adapters.slack.presses import Press, button
from bot.errors import HeadwayError, Refused, StoreUnusable
from bot.ports.chat import FORM_ACT, Incoming, Place, Speaker
from bot.ports.windows import AIM, NEW, WORDS, Home, Input, Window
from tests.adapters.slack.hearing_bed import Hearing, hearing
from tests.peers.slack_faults import Slow
from tests.peers.slack_front import SlackFront, slack


@pytest.fixture(scope="module")
def slack_of_module() -> Iterator[SlackFront]:
    with slack() as front:
        yield front


@pytest.fixture
def front(slack_of_module: SlackFront) -> Iterator[SlackFront]:
    slack_of_module.faults.calm()
    slack_of_module.calls.clear()
    slack_of_module.violations.clear()
    slack_of_module.world.stacks.clear()
    yield slack_of_module
    assert slack_of_module.violations == [], slack_of_module.violations


class Shown:
    """Port Windows, of one form."""

    def __init__(self) -> None:
        self.pressed: list[Incoming] = []
        self.wrong: dict[str, str] = {}
        self.error: HeadwayError | None = None

    def opens(self, pressed: Incoming) -> bool:
        return pressed.via == "button" and pressed.text.split("\n")[0] in ("edit", NEW, AIM)

    async def window(self, pressed: Incoming) -> Window:
        self.pressed.append(pressed)
        if self.error is not None:
            raise self.error
        return Window(
            "New goal",
            "start",
            pressed.place,
            inputs=(
                Input(WORDS, "Objective", "words"),
                Input("budget", "Budget", is_optional=True),
            ),
            submit="Start",
            close="Leave",
        )

    async def errors(self, filled: Incoming) -> Mapping[str, str]:
        return self.wrong

    async def home(self, workspace: str, who: Speaker, page: int = 1) -> Home:
        raise NotImplementedError


async def opened(bed: Hearing, title: str = "New goal") -> dict[str, Any]:
    """The window that Alice has open, once it is filled in."""

    def there() -> bool:
        stack = bed.front.world.stacks.get("U01ALICE") or []
        return bool(stack) and stack[-1]["title"]["text"] == title

    await bed.inbox.until(there, "a window")
    return bed.front.window("U01ALICE")


async def edit_pressed(bed: Hearing) -> None:
    block = {
        "type": "actions", "block_id": "headway:b",
        "elements": [button(Press("edit"), "Edit", 1)],
    }  # fmt: skip
    posted = await bed.listening._calls.call(
        "T01TEST", "chat.postMessage", channel="C01GEN", text="root", blocks=[block]
    )
    envelope = await bed.front.press("U01ALICE", "C01GEN", str(posted["ts"]), "Edit")
    assert envelope.is_acked


async def test_a_press_that_opens_a_window_is_shown_it_and_nothing_is_stored(
    front: SlackFront,
) -> None:
    shown = Shown()
    async with hearing(front, Ear(windows=shown)) as bed:
        await edit_pressed(bed)
        await opened(bed)

    assert shown.pressed[0].text == "edit"
    assert bed.inbox.arrivals == []


async def test_the_shortcuts_open_windows_over_http_or_sockets_alike(front: SlackFront) -> None:
    shown = Shown()
    async with hearing(front, Ear(windows=shown)) as bed:
        await front.shortcut("U01ALICE", "headway:new")
        await opened(bed)
        front.world.stacks.clear()
        ts = str(await bed.does(lambda: front.say("U02BOB", "C01GEN", "fix <@U01ALICE> please")))
        await front.message_shortcut("U01ALICE", "C01GEN", ts, "headway:aim")
        await opened(bed)

    new, aim = shown.pressed
    assert (new.text, new.place.room) == (NEW, "")
    assert aim.text.startswith(f"{AIM}\nfix <@T01TEST:U01ALICE|")
    assert (aim.reply_to, aim.place) == (f"C01GEN:{ts}", Place("slack", "T01TEST", "C01GEN"))


async def test_what_is_filled_in_is_stored_and_then_the_window_closes(front: SlackFront) -> None:
    async with hearing(front, Ear(windows=Shown())) as bed:
        await edit_pressed(bed)
        await opened(bed)
        envelope = await front.submit("U01ALICE", Objective="fix the tests", Budget="2")
        await bed.inbox.until(lambda: bed.inbox.messages, "a form")

    (form,) = bed.inbox.messages
    assert (form.text, form.via) == ("fix the tests", "form")
    assert dict(form.form) == {FORM_ACT: "start", "budget": "2"}
    assert (form.speaker.id, form.place.room) == ("T01TEST:U01ALICE", "C01GEN")
    assert form.id.startswith("form:")
    assert envelope.is_acked
    assert not envelope.answer


async def test_what_is_wrong_with_a_form_is_told_in_it_and_nothing_is_stored(
    front: SlackFront,
) -> None:
    shown = Shown()
    shown.wrong = {WORDS: "Say when it is done."}
    async with hearing(front, Ear(windows=shown)) as bed:
        await edit_pressed(bed)
        await opened(bed)
        envelope = await front.submit("U01ALICE", Objective="it")
        shown.wrong = {}
        await front.submit("U01ALICE", Objective="fix the tests")

    assert envelope.answer["response_action"] == "errors"
    assert list(envelope.answer["errors"].values()) == ["Say when it is done."]
    assert bed.inbox.texts() == ["fix the tests"]


async def test_a_form_that_cannot_be_stored_stays_open(front: SlackFront) -> None:
    async with hearing(front, Ear(windows=Shown())) as bed:
        await edit_pressed(bed)
        await opened(bed)
        bed.inbox.is_broken = StoreUnusable("The disk is full.")
        sending = asyncio.ensure_future(_of(front.submit("U01ALICE", Objective="fix")))
        await bed.inbox.until(lambda: bed.inbox.tried, "a try")
        await asyncio.sleep(0.1)
        was_acked = front.sockets.log[-1].is_acked
        sending.cancel()
        bed.inbox.is_broken = None

    assert not was_acked
    assert bed.inbox.arrivals == []


async def _of(reply: Any) -> Any:
    return await reply


async def test_what_cannot_be_shown_is_a_sentence_in_the_window(front: SlackFront) -> None:
    shown = Shown()
    shown.error = Refused("That goal has ended.", code="final")
    async with hearing(front, Ear(windows=shown)) as bed:
        await edit_pressed(bed)
        view = await opened(bed, "Headway")
        await bed.inbox.until(
            lambda: "That goal has ended." in str(front.window("U01ALICE")), "a sentence"
        )

    assert not view.get("submit")


async def test_a_window_opens_in_time_though_slack_is_slow_to_fill_it(front: SlackFront) -> None:
    front.faults.next_times("views.update", Slow(0.5))
    async with hearing(front, Ear(windows=Shown())) as bed:
        await edit_pressed(bed)
        await opened(bed)

    (call,) = front.of("views.open")
    assert call.is_done


async def test_a_trigger_that_is_too_old_stores_nothing_and_hurts_nobody(
    front: SlackFront,
) -> None:
    async with hearing(front, Ear(windows=Shown())) as bed:
        body = {
            "type": "shortcut", "callback_id": "headway:new", "trigger_id": "1.2.old",
            "user": {"id": "U01ALICE", "team_id": "T01TEST", "name": "alice"},
            "team": {"id": "T01TEST"}, "enterprise": None, "is_enterprise_install": False,
            "api_app_id": "A01APP",
        }  # fmt: skip
        envelope = await front.inject_payload(body)
        await bed.inbox.until(lambda: front.of("views.open"), "a try")

    assert envelope.is_acked
    assert bed.inbox.arrivals == []


async def test_a_form_that_nobody_can_read_any_more_says_so(front: SlackFront) -> None:
    async with hearing(front, Ear(windows=Shown())) as bed:
        await edit_pressed(bed)
        view = await opened(bed)
        envelope = await front.submit_as("U01ALICE", {**view, "private_metadata": "of old"})

    assert envelope.answer["response_action"] == "update"
    assert "That cannot be shown." in str(envelope.answer["view"])
    assert bed.inbox.arrivals == []
