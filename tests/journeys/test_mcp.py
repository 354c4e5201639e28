"""A room's MCP servers, through the real process: taken by word, called after a yes, lost without harm."""

import shlex
from pathlib import Path

import pytest

from tests.adapters.mcp.bed import ODD, an_http_server, trusted_command
from tests.journeys.bot import Bot, until
from tests.journeys.conftest import Begin
from tests.peers.messages_api import started

pytestmark = [pytest.mark.process, pytest.mark.sandbox]

OBEYING = "tests.peers.scripts_obeying:obeying"


def last(bot: Bot, holds: str, thread: str = "") -> str:
    """The last post that says so."""
    until(lambda: any(holds in post.text for post in bot.posts(thread)), 60, bot.told)
    return [post.text for post in bot.posts(thread) if holds in post.text][-1]


def test_a_server_is_taken_and_its_tool_runs_once_after_a_yes_and_a_kill(
    begin: Begin, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    command = shlex.join(trusted_command(log))
    with started(OBEYING) as api:
        bot = begin(api, mcp_trusted=f'["{command}"]')
        bot.say(f"/goal room mcp add calc {command}")
        added = last(bot, "is this room's now")
        goal = bot.goal('INJECT: call mcp_calc_add {"a": 20, "b": 22}')
        goal.until("deciding")
        assert not log.exists() or "add" not in log.read_text()
        bot.end()
        bot.start()

        goal.say("approve")

        goal.until("complete", 40)
        look = goal.look()
        ended = look.events("ToolEnded")
        assert "`mcp_calc_add`" in added
        assert log.read_text().count("add 20 22") == 1
        assert [one.outcome for one in ended] == ["ok"]


def test_a_goal_whose_profile_is_full_calls_unasked_and_a_dead_server_is_that_calls_error(
    begin: Begin, tmp_path: Path
) -> None:
    command = shlex.join(trusted_command(tmp_path / "log"))
    with started(OBEYING) as api:
        bot = begin(api, mcp_trusted=f'["{command}"]', profile="full")
        bot.say(f"/goal room mcp add calc {command}")
        last(bot, "is this room's now")
        goal = bot.goal('INJECT: call mcp_calc_die {}\nINJECT: call mcp_calc_add {"a": 1, "b": 2}')

        goal.until("complete", 40)

        assert [one.outcome for one in goal.look().events("ToolEnded")] == ["error", "ok"]


def test_a_server_in_the_sandbox_and_one_by_address(begin: Begin, tmp_path: Path) -> None:
    with started(OBEYING) as api, an_http_server(tmp_path / "http.log") as port:
        bot = begin(
            api,
            mcp_folders=f'["{ODD.parent}"]',
            private_hosts=f'["127.0.0.1:{port}=127.0.0.1"]',
            profile="full",
        )
        bot.say(f"/goal room mcp add odd python3 {ODD} good")
        last(bot, "`odd`")
        bot.say(f"/goal room mcp add web http://127.0.0.1:{port}/mcp")
        last(bot, "`web`")
        goal = bot.goal('INJECT: call mcp_odd_look {}\nINJECT: call mcp_web_add {"a": 1}')

        goal.until("complete", 40)

        assert [one.outcome for one in goal.look().events("ToolEnded")] == ["ok", "ok"]


def test_a_server_that_does_not_start_holds_up_no_turn(begin: Begin, tmp_path: Path) -> None:
    with started(OBEYING) as api:
        bot = begin(api, mcp_folders=f'["{ODD.parent}"]', profile="full")
        bot.say(f"/goal room mcp add odd python3 {ODD} ends")
        refused = last(bot, "nothing is changed")
        bot.say(f"/goal room mcp add odd /usr/bin/env python3 {ODD}")
        last(bot, "is this room's now")
        goal = bot.goal("INJECT: say nothing of servers")

        goal.until("complete")

        assert "There is no configuration" in refused
        assert "Traceback" not in bot.told()
