"""Tokens of Slack, asked of a server that hands them out and takes them back."""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest
from slack_bolt.context.async_context import AsyncBoltContext

from adapters.slack.authorizing import SEEN_THROUGH, InstallAuthorize, seen_through
from adapters.slack.errors import NOT_INSTALLED, LoggedOut
from adapters.slack.tokens import EARLY_S
from bot.errors import BadSettings, Wait
from tests.adapters.slack.installs import Bed, installs_bed
from tests.peers.slack_keys import Holder


@pytest.fixture
def bed() -> Iterator[Bed]:
    with installs_bed() as made:
        yield made


async def test_a_single_token_is_that_of_its_workspace_alone(bed: Bed) -> None:
    bed.slack.tokens["xoxb-one-token"] = Holder()
    tokens = bed.tokens("xoxb-one-token")

    token = await tokens.token_for("T01TEST")
    install = await tokens.install_of("T01TEST")
    other = await tokens.install_of("T09OTHER")

    assert token == "xoxb-one-token"
    assert install is not None
    assert (install.bot_user, install.app, install.name) == ("U0BOT", "A01APP", "Test Workspace")
    assert install.scopes == ("chat:write", "commands", "users:read")
    assert other is None
    assert bed.slack.asked.count("auth.test") == 1
    assert bed.learnt["xoxb-one-token"] == "slack_bot_token"


async def test_a_token_of_an_organisation_is_known_by_the_organisation(bed: Bed) -> None:
    bed.slack.tokens["xoxb-org"] = Holder(organisation="E01ORG", is_for_organisation=True)

    [install] = await bed.tokens("xoxb-org").all()

    assert (install.workspace, install.organisation) == ("E01ORG", "E01ORG")


async def test_a_single_token_without_users_read_works_without_the_name_of_the_app(
    bed: Bed,
) -> None:
    bed.slack.tokens["xoxb-one-token"] = Holder(scopes="chat:write")

    install = await bed.tokens("xoxb-one-token").install_of("T01TEST")

    assert install is not None
    assert install.app == ""


@pytest.mark.parametrize("error", ["invalid_auth", "token_revoked", "account_inactive"])
async def test_a_wrong_token_is_told_with_the_mend_and_not_asked_about_each_time(
    bed: Bed, error: str
) -> None:
    bed.slack.tokens["xoxb-wrong"] = Holder(error=error)
    tokens = bed.tokens("xoxb-wrong")

    for _ in range(3):
        with pytest.raises(BadSettings, match=rf"slack_bot_token \({error}\).*OAuth & Permissions"):
            await tokens.token_for("T01TEST")
    asked = bed.slack.asked.count("auth.test")
    bed.slack.tokens["xoxb-wrong"] = Holder()
    bed.clock.move(61)

    assert asked == 1
    assert await tokens.token_for("T01TEST") == "xoxb-wrong"


async def test_a_persons_token_is_no_bots(bed: Bed) -> None:
    bed.slack.tokens["xoxp-of-ann"] = Holder(bot=None)

    with pytest.raises(BadSettings, match="the token of a person"):
        await bed.tokens("xoxp-of-ann").token_for("T01TEST")


async def test_a_slack_that_is_away_is_waited_for(bed: Bed) -> None:
    bed.slack.fails["auth.test"] = (503, {"ok": False, "error": "service_unavailable"})
    tokens = bed.tokens("xoxb-one-token")

    with pytest.raises(Wait):
        await tokens.token_for("T01TEST")


async def test_an_install_has_its_own_token_and_a_workspace_without_one_none(bed: Bed) -> None:
    install = await bed.installed()
    tokens = bed.tokens()

    token = await tokens.token_for("T01TEST")

    assert token == install.token
    assert set(bed.learnt) >= {install.token, install.refresh_token}
    with pytest.raises(LoggedOut, match="not installed in the workspace T02NONE"):
        await tokens.token_for("T02NONE")


async def test_a_token_is_renewed_before_it_runs_out_and_kept_before_it_is_used(bed: Bed) -> None:
    old = await bed.installed()
    tokens = bed.tokens()
    bed.clock.move(43_200 - EARLY_S + 1)

    token = await tokens.token_for("T01TEST")

    assert token != old.token
    assert (bed.kept().token, bed.kept().refresh_token) == (token, "xoxe-1-refresh-2")
    assert bed.kept().expires_at == bed.clock.now() + 43_200
    assert {token, "xoxe-1-refresh-2"} <= set(bed.learnt)


async def test_many_that_ask_at_once_renew_it_once(bed: Bed) -> None:
    await bed.installed()
    tokens = bed.tokens()
    bed.clock.move(43_200)

    found = await asyncio.gather(*(tokens.token_for("T01TEST") for _ in range(20)))

    assert set(found) == {bed.kept().token}
    assert bed.slack.asked.count("oauth.v2.access") == 1


async def test_what_another_process_renewed_is_not_renewed_again(bed: Bed) -> None:
    old = await bed.installed()
    tokens = bed.tokens()
    await tokens.token_for("T01TEST")
    bed.clock.move(43_200 - 10)
    await bed.installs.keep(replace(old, token="xoxb-theirs", expires_at=bed.clock.now() + 43_200))

    token = await tokens.token_for("T01TEST")

    assert token == "xoxb-theirs"
    assert "oauth.v2.access" not in bed.slack.asked


async def test_a_token_that_slack_refuses_is_a_trouble_until_it_takes_one(bed: Bed) -> None:
    install = await bed.installed()
    tokens = bed.tokens()
    await tokens.token_for("T01TEST")

    tokens.refused("T01TEST", LoggedOut("No.", code="token_revoked"))
    tokens.refused("T02GONE", LoggedOut("No.", code=NOT_INSTALLED))
    refused = dict(tokens.troubles)
    tokens.taken("T01TEST")
    taken = dict(tokens.troubles)
    tokens.refused("T01TEST", LoggedOut("No.", code="token_revoked"))
    await tokens.keep(install)

    assert list(refused) == ["T01TEST"]
    assert "(token_revoked) in Test Workspace" in refused["T01TEST"]
    assert "Install the app there again" in refused["T01TEST"]
    assert (taken, tokens.troubles) == ({}, {})


async def test_a_lost_answer_leaves_the_old_token_until_it_ends_and_says_so(
    bed: Bed, caplog: pytest.LogCaptureFixture
) -> None:
    old = await bed.installed()
    tokens = bed.tokens()
    bed.clock.move(43_200 - EARLY_S + 1)
    bed.slack.loses = 1

    first = await tokens.token_for("T01TEST")
    second = await tokens.token_for("T01TEST")
    bed.clock.move(61)
    third = await tokens.token_for("T01TEST")
    told = tokens.troubles["T01TEST"]
    bed.clock.move(EARLY_S)

    assert {first, second, third} == {old.token}
    assert bed.slack.asked.count("oauth.v2.access") == 2
    assert "invalid_refresh_token" in told
    assert "install the app there again" in caplog.text
    with pytest.raises(LoggedOut, match="has run out and cannot be renewed"):
        await tokens.token_for("T01TEST")


async def test_installed_again_the_trouble_is_over(bed: Bed) -> None:
    await bed.installed()
    tokens = bed.tokens()
    bed.slack.refreshes.clear()
    bed.clock.move(43_200 - 10)
    await tokens.token_for("T01TEST")

    await tokens.keep(replace(bed.kept(), token="xoxb-anew", expires_at=None))

    assert await tokens.token_for("T01TEST") == "xoxb-anew"
    assert tokens.troubles == {}


async def test_a_new_token_that_cannot_be_kept_is_not_used_and_not_asked_for_again(
    bed: Bed, caplog: pytest.LogCaptureFixture
) -> None:
    old = await bed.installed()
    tokens = bed.tokens()
    bed.clock.move(43_200 - 1_000)
    bed.installs.is_busy = True

    before = await tokens.token_for("T01TEST")
    bed.installs.is_busy = False
    bed.clock.move(61)
    after = await tokens.token_for("T01TEST")

    assert before == old.token
    assert after == bed.kept().token == "xoxb-given-token-2"
    assert bed.slack.asked.count("oauth.v2.access") == 1


async def test_a_slack_that_is_away_when_the_token_has_run_out_is_waited_for(bed: Bed) -> None:
    await bed.installed()
    tokens = bed.tokens()
    bed.clock.move(43_201)
    bed.slack.fails["oauth.v2.access"] = (503, {"ok": False, "error": "service_unavailable"})

    with pytest.raises(Wait, match="has run out"):
        await tokens.token_for("T01TEST")
    bed.slack.fails.clear()

    assert await tokens.token_for("T01TEST") == bed.kept().token


async def test_a_token_that_slack_calls_expired_is_renewed_whatever_our_clock_says(
    bed: Bed,
) -> None:
    old = await bed.installed()
    tokens = bed.tokens()

    tokens.ran_out(await tokens.token_for("T01TEST"))

    assert await tokens.token_for("T01TEST") == bed.kept().token != old.token


async def test_what_is_erased_while_it_is_renewed_stays_erased(bed: Bed) -> None:
    await bed.installed()
    tokens = bed.tokens()
    await tokens.token_for("T01TEST")
    bed.clock.move(43_200)
    await bed.installs.erase("slack", "T01TEST")

    with pytest.raises(LoggedOut):
        await tokens.token_for("T01TEST")

    assert bed.installs.rows == {}


async def test_of_several_authorizations_the_first_that_is_installed_counts(bed: Bed) -> None:
    install = await bed.installed()
    body = {
        "team_id": "T08SHARED",
        "authorizations": [
            {"team_id": "T07GONE", "enterprise_id": None, "is_enterprise_install": False},
            {"team_id": "T01TEST", "enterprise_id": "E01ORG", "is_enterprise_install": False},
        ],
    }
    context = AsyncBoltContext({SEEN_THROUGH: seen_through(body)})

    result = await InstallAuthorize(bed.tokens())(
        context=context, enterprise_id=None, team_id="T07GONE", user_id="U01ALICE"
    )

    assert result is not None
    assert (result.bot_token, result.bot_user_id) == (install.token, "U0BOT")


async def test_an_install_for_an_organisation_is_found_by_it_whatever_the_team(bed: Bed) -> None:
    body = {
        "authorizations": [
            {"team_id": "T05ANY", "enterprise_id": "E01ORG", "is_enterprise_install": True}
        ]
    }

    assert seen_through(body)[0] == "E01ORG"


async def test_a_workspace_that_is_not_installed_is_let_in_by_nobody(bed: Bed) -> None:
    context = AsyncBoltContext({})

    result = await InstallAuthorize(bed.tokens())(
        context=context, enterprise_id=None, team_id="T07GONE", user_id="U01ALICE"
    )

    assert result is None


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
