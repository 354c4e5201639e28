"""Workspaces that remove the app: by an event, by a look, and with a death in the middle."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.authorizing import seen_through
from adapters.slack.leaving import Leaving
from adapters.slack.subscribed import event_name
from bot.errors import StoreBusy, Wait
from bot.ports.chat import Arrival, RoomLost
from bot.ports.positions import Position
from tests.adapters.slack.installs import Bed, installs_bed
from tests.peers.slack_keys import Holder


class Heard:
    """A receive that keeps what it is given, each once."""

    def __init__(self) -> None:
        self.lost: dict[str, RoomLost] = {}
        self.is_broken = False

    async def __call__(self, *arrivals: Arrival, upto: Position | None = None) -> None:
        """Keep it."""
        if self.is_broken:
            raise StoreBusy("The database is locked. It is tried again.")
        self.lost |= {one.id: one for one in arrivals if isinstance(one, RoomLost)}


@pytest.fixture
def bed() -> Iterator[Bed]:
    with installs_bed() as made:
        yield made


@pytest.fixture
def heard() -> Heard:
    return Heard()


def leaving(bed: Bed, token: str = "") -> Leaving:
    return Leaving(bed.tokens(token), bed.slack.api_url, bed.clock.now)


def an_event(bed: Bed, kind: str = "app_uninstalled", **more: Any) -> dict[str, Any]:
    return {
        "type": "event_callback",
        "event_id": f"Ev{kind}",
        "event_time": int(bed.clock.now()),
        "team_id": "T01TEST",
        "api_app_id": "A01APP",
        "event": {"type": kind, **more},
    }


async def test_an_app_that_is_removed_loses_every_room_and_its_tokens(
    bed: Bed, heard: Heard
) -> None:
    await bed.installed()
    bed.clock.move(60)

    await leaving(bed).event(an_event(bed), heard)

    [lost] = heard.lost.values()
    assert (lost.place.network, lost.place.workspace, lost.place.room) == ("slack", "T01TEST", "")
    assert lost.how == "uninstalled"
    assert bed.installs.rows == {}


async def test_both_events_of_one_removal_and_their_redeliveries_are_one_loss(
    bed: Bed, heard: Heard
) -> None:
    await bed.installed()
    bed.clock.move(60)
    goes = leaving(bed)

    for kind in ("tokens_revoked", "app_uninstalled", "tokens_revoked"):
        await goes.event(an_event(bed, kind, tokens={"bot": ["U0BOT"]}), heard)

    assert len(heard.lost) == 1


async def test_what_cannot_be_stored_erases_nothing_and_comes_again(bed: Bed, heard: Heard) -> None:
    await bed.installed()
    bed.clock.move(60)
    heard.is_broken = True

    with pytest.raises(StoreBusy):
        await leaving(bed).event(an_event(bed), heard)

    assert len(bed.installs.rows) == 1


async def test_whoever_died_between_the_two_is_mended_at_the_next_start(
    bed: Bed, heard: Heard
) -> None:
    install = await bed.installed()
    bed.clock.move(60)
    bed.slack.tokens[install.token].error = "account_inactive"
    await leaving(bed)._lost(install, bed.clock.now(), heard)
    await bed.installs.keep(install)

    await leaving(bed).look(heard)

    assert len(heard.lost) == 1
    assert bed.installs.rows == {}


async def test_a_removal_that_nobody_heard_is_found_by_looking(bed: Bed, heard: Heard) -> None:
    gone = await bed.installed(Holder(error="token_revoked"))
    await bed.installed(Holder(team="T02STAYS"))

    await leaving(bed).look(heard)

    assert [lost.place.workspace for lost in heard.lost.values()] == [gone.workspace]
    assert set(bed.installs.rows) == {("slack", "T02STAYS")}


async def test_a_workspace_that_cannot_be_asked_loses_nothing_and_hides_no_other(
    bed: Bed, heard: Heard
) -> None:
    await bed.installed(Holder(team="T00ODD", error="ekm_access_denied"))
    await bed.installed(Holder(team="T01BUSY", error="ratelimited"))
    await bed.installed(Holder(team="T02GONE", error="account_inactive"))

    await leaving(bed).look(heard)

    assert [lost.place.workspace for lost in heard.lost.values()] == ["T02GONE"]
    assert len(bed.installs.rows) == 2


async def test_an_old_event_comes_again_where_slack_cannot_be_asked(bed: Bed, heard: Heard) -> None:
    old = an_event(bed)
    bed.clock.move(60)
    await bed.installed()
    bed.slack.fails["auth.test"] = (503, {"ok": False, "error": "service_unavailable"})

    with pytest.raises(Wait):
        await leaving(bed).event(old, heard)

    assert heard.lost == {}


async def test_a_loss_found_by_looking_that_cannot_be_stored_is_told(
    bed: Bed, heard: Heard
) -> None:
    await bed.installed(Holder(error="token_revoked"))
    heard.is_broken = True

    with pytest.raises(StoreBusy):
        await leaving(bed).look(heard)

    assert len(bed.installs.rows) == 1


async def test_an_address_that_the_workspace_does_not_let_in_is_no_removal(
    bed: Bed, heard: Heard
) -> None:
    await bed.installed(Holder(error="invalid_auth"))

    await leaving(bed).look(heard)

    assert heard.lost == {}


async def test_an_event_from_before_it_was_installed_anew_takes_nothing(
    bed: Bed, heard: Heard
) -> None:
    old = an_event(bed)
    bed.clock.move(60)
    await bed.installed()

    await leaving(bed).event(old, heard)

    assert heard.lost == {}
    assert len(bed.installs.rows) == 1


async def test_a_clock_of_ours_that_is_ahead_keeps_no_dead_token(bed: Bed, heard: Heard) -> None:
    told = an_event(bed)
    bed.clock.move(60)
    await bed.installed(Holder(error="account_inactive"))

    await leaving(bed).event(told, heard)

    assert len(heard.lost) == 1


async def test_tokens_of_persons_alone_are_no_removal(bed: Bed, heard: Heard) -> None:
    await bed.installed()

    await leaving(bed).event(an_event(bed, "tokens_revoked", tokens={"oauth": ["U01ALICE"]}), heard)

    assert heard.lost == {}


async def test_removed_where_the_settings_name_the_token_the_rooms_are_lost_too(
    bed: Bed, heard: Heard
) -> None:
    bed.slack.tokens["xoxb-one-token"] = Holder()
    goes = leaving(bed, "xoxb-one-token")
    await goes._tokens.token_for("T01TEST")
    bed.clock.move(60)

    await goes.event(an_event(bed), heard)
    await goes.event(an_event(bed, "tokens_revoked", tokens={"bot": ["U0BOT"]}), heard)

    assert len(heard.lost) == 1


@pytest.mark.parametrize(
    "body",
    [{}, {"event": None}, {"event": {"type": "app_uninstalled"}}, {"event": {"type": "message"}}],
)
async def test_what_names_nothing_loses_nothing(
    bed: Bed, heard: Heard, body: dict[str, Any]
) -> None:
    await bed.installed()

    await leaving(bed).event(body, heard)

    assert heard.lost == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["T01TEST"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["team_id", "enterprise_id", "authorizations", "is_enterprise_install", "event",
                 "type", "tokens", "bot", "team", "enterprise", "view", "user", "event_time", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(body=st.dictionaries(st.sampled_from(["team_id", "event", "authorizations", "enterprise_id",
                                             "team", "is_enterprise_install", "event_time"]), JSON),
       event=JSON)  # fmt: skip
def test_of_whatever_comes_the_installs_are_ids_each_once(body: Any, event: Any) -> None:
    found = seen_through(body)

    assert len(set(found)) == len(found)
    assert all(isinstance(one, str) and one for one in found)
    assert isinstance(event_name(event), str)
