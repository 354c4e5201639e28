"""Several workspaces, organisations, and people of elsewhere."""

import asyncio
from collections.abc import Iterator, Mapping

import pytest

from adapters.slack.ear import Ear
from adapters.slack.mentions import Known
from bot.ports.chat import Place
from tests.adapters.slack.hearing_bed import Hearing, hearing
from tests.adapters.slack.test_opening import Shown, opened
from tests.peers.localslack import CHANNELS, TEAM, Channel, Install
from tests.peers.slack_front import SlackFront, slack

FIRST = Install()
SECOND = Install(
    team="T02SECOND", bot="U0TWO", bot_token="xoxb-second-token", name="Second", domain="second"
)
ORG = Install(enterprise="E01ORG", is_org_wide=True)
IN_ORG = Install(enterprise="E01ORG")


@pytest.fixture
def front() -> Iterator[SlackFront]:
    channels = (*CHANNELS, Channel("C04SEC", "second", team=SECOND.team))
    with slack(channels, (FIRST, SECOND)) as front:
        yield front
        assert front.violations == [], front.violations


async def heard(bed: Hearing, user: str, channel: str, text: str) -> None:
    await bed.does(lambda: bed.front.say(user, channel, text))
    await bed.inbox.until(lambda: text in bed.inbox.texts(), text)


async def test_each_workspace_is_heard_as_itself(front: SlackFront) -> None:
    async with hearing(front, installed=(FIRST, SECOND)) as bed:
        await heard(bed, "U01ALICE", "C01GEN", "here")
        await heard(bed, "U01ALICE", "C04SEC", "there")

    assert [one.place.workspace for one in bed.inbox.messages] == [TEAM, "T02SECOND"]


async def test_a_channel_that_two_installs_see_is_one_room(front: SlackFront) -> None:
    front.world.room("C01GEN").further = (SECOND,)

    async def workspace_of(room: str) -> None:
        await asyncio.sleep(0.02)

    ear = Ear(workspace_of=workspace_of)
    async with hearing(front, ear, installed=(FIRST, SECOND)) as bed:
        for text in ("one", "two", "three"):
            await heard(bed, "U01ALICE", "C01GEN", text)
        await bed.inbox.until(lambda: len(bed.inbox.tried) == 6, "both installs")

    assert bed.inbox.texts() == ["one", "two", "three"]
    assert len({one.place.workspace for one in bed.inbox.messages}) == 1


async def test_a_channel_stays_in_the_workspace_under_which_it_is_known(
    front: SlackFront,
) -> None:
    front.world.room("C01GEN").further = (SECOND,)

    async def workspace_of(room: str) -> str | None:
        return "T02SECOND" if room == "C01GEN" else None

    async with hearing(front, Ear(workspace_of=workspace_of), installed=(FIRST, SECOND)) as bed:
        await heard(bed, "U01ALICE", "C01GEN", "shared")

    assert bed.inbox.messages[0].place == Place("slack", "T02SECOND", "C01GEN")


async def test_a_form_acts_in_the_workspace_under_which_its_channel_is_known(
    front: SlackFront,
) -> None:
    async def workspace_of(room: str) -> str | None:
        return "T02SECOND" if room == "C01GEN" else None

    ear = Ear(workspace_of=workspace_of, windows=Shown())
    async with hearing(front, ear, installed=(FIRST, SECOND)) as bed:
        ts = str(await bed.does(lambda: front.say("U01ALICE", "C01GEN", "fix it")))
        await front.message_shortcut("U01ALICE", "C01GEN", ts, "headway_run_as_goal")
        await opened(bed)
        await front.submit("U01ALICE", Objective="fix it well")
        await bed.inbox.until(lambda: "fix it well" in bed.inbox.texts(), "a form")

    assert bed.inbox.messages[-1].place.workspace == "T02SECOND"


async def test_a_workspace_that_is_gone_keeps_no_channel(front: SlackFront) -> None:
    async def workspace_of(room: str) -> str | None:
        return "T09GONE"

    async with hearing(front, Ear(workspace_of=workspace_of), installed=(FIRST,)) as bed:
        await heard(bed, "U01ALICE", "C01GEN", "hello")

    assert bed.inbox.messages[0].place.workspace == TEAM


async def test_a_workspace_where_the_app_is_not_installed_is_not_heard(front: SlackFront) -> None:
    async with hearing(front, installed=(FIRST,)) as bed:
        await bed.does(lambda: front.say("U01ALICE", "C04SEC", "there"))
        await bed.inbox.until(lambda: front.sockets.log and front.sockets.log[-1].is_acked)
        await heard(bed, "U01ALICE", "C01GEN", "here")

    assert bed.inbox.texts() == ["here"]


@pytest.mark.parametrize("install", [ORG, IN_ORG])
async def test_people_of_an_organisation_are_known_by_it(install: Install) -> None:
    with slack(installs=(install,)) as front:
        front.person("U01ALICE", enterprise_user={"enterprise_id": "E01ORG"})
        async with hearing(front, installed=(install,)) as bed:
            await heard(bed, "U01ALICE", "C01GEN", "hello")
            await front.command("U01ALICE", "C01GEN", "list")
            ts = bed.inbox.messages[0].id.partition(":")[2]
            await bed.does(lambda: front.react("U01ALICE", "C01GEN", ts, "eyes"))
            await bed.inbox.until(lambda: len(bed.inbox.arrivals) == 3, "three")
        assert front.violations == [], front.violations

    workspace = "E01ORG" if install.is_org_wide else TEAM
    assert {one.speaker.id for one in bed.inbox.arrivals} == {"E01ORG:U01ALICE"}
    assert {one.place.workspace for one in bed.inbox.arrivals} == {workspace}


async def test_a_person_of_another_organisation_is_somebody_else_however_they_act(
    front: SlackFront,
) -> None:
    front.person("U07FORGN", team_id="T09FAR")
    front.world.room("C01GEN").is_shared = True

    async with hearing(front, installed=(FIRST,)) as bed:
        await heard(bed, "U07FORGN", "C01GEN", "hello")
        ts = bed.inbox.messages[0].id.partition(":")[2]
        await bed.does(lambda: front.react("U07FORGN", "C01GEN", ts, "dart"))
        await bed.inbox.until(lambda: len(bed.inbox.arrivals) == 2, "two")

    assert {one.speaker.id for one in bed.inbox.arrivals} == {"T09FAR:U07FORGN"}


async def test_who_cannot_be_looked_up_in_time_is_heard_all_the_same(front: SlackFront) -> None:
    async with hearing(front, installed=(FIRST,)) as bed:

        async def never(workspace: str, users: frozenset[str]) -> dict[str, object]:
            await asyncio.sleep(60)
            return {}

        object.__setattr__(bed.listening.ear, "people", never)
        await heard(bed, "U01ALICE", "C01GEN", "hello")

    (said,) = bed.inbox.messages
    assert said.speaker.id == "T01TEST:U01ALICE"


async def test_an_unknown_name_in_a_text_hides_not_who_speaks(front: SlackFront) -> None:
    async with hearing(front, installed=(FIRST,)) as bed:
        known = bed.listening.ear.people

        async def slow(workspace: str, users: frozenset[str]) -> Mapping[str, Known]:
            if "U02BOB" in users:
                await asyncio.sleep(60)
            return await known(workspace, users)

        object.__setattr__(bed.listening.ear, "people", slow)
        await bed.does(lambda: front.say("U01ALICE", "C01GEN", "ask <@U02BOB>"))
        await bed.inbox.until(lambda: bed.inbox.messages, "a message")

    (said,) = bed.inbox.messages
    assert said.speaker.name == "alice"
    assert said.text == "ask <@T01TEST:U02BOB>"
