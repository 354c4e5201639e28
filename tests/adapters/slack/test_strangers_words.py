"""What agents, tools, files and servers put into a post calls nobody in Slack, whichever part of it it is."""

import json
import re
from dataclasses import replace

import pytest

from adapters.slack import render
from adapters.slack.blocks import Dialect
from bot.chat.mcp_words import listed, taken
from bot.chat.texts import Texts
from bot.ports.chat import Button, Place, Shape
from bot.ports.mcp_servers import How, Listing, McpServer, TakenTool
from tests.adapters.slack.test_render import WORDS
from tests.adapters.slack.test_text import live

CALLS = (
    "<!channel>",
    "<!here|x>",
    "<@U01ALICE>",
    "<!subteam^S1|@ops>",
    "@channel",
    "@here",
    "@everyone",
)
HOSTILE = " ".join(CALLS)
PLAIN = Shape("✅", "Complete", ("G12",), body="Done.")
PARTS = {
    "the agent's reply": replace(PLAIN, body=HOSTILE),
    "a fact": replace(PLAIN, facts=(HOSTILE,)),
    "what runs now": replace(PLAIN, now=f"Now: running `{HOSTILE}`"),
    "a task": replace(PLAIN, tasks=((HOSTILE, "doing"),)),
    "a note with a file's name": replace(PLAIN, notes=(f"Files: {HOSTILE}",)),
    "an option": replace(PLAIN, options=(HOSTILE, "no")),
    "code": replace(PLAIN, body=f"```\n{HOSTILE}\n```\n`{HOSTILE}`"),
    "a button": replace(PLAIN, buttons=(Button("trace", HOSTILE),)),
}


def called(made: render.Message) -> list[str]:
    """Whom Slack would call."""
    controls = re.findall(r"<[!@][^>]*>", live(list(made.blocks)) + made.text)
    blocks = re.findall(r'"type": "(?:user|usergroup|broadcast)"', json.dumps(made.blocks))
    words = re.findall(r"(?<![\w\u2060])@(?:here|channel|everyone)\b", made.text)
    return [*controls, *blocks, *words]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dialect", list(Dialect))
def test_no_part_of_a_post_that_a_stranger_wrote_calls_anybody(part: str, dialect: Dialect) -> None:
    assert called(render.message(PARTS[part], WORDS, dialect=dialect)) == []


def test_what_is_told_of_a_server_calls_nobody() -> None:
    tool = TakenTool(HOSTILE, "mcp_calc_x_123456", HOSTILE, {"type": "object"})
    server = McpServer(Place("slack", "T", "C"), "calc", How(("run", HOSTILE)), (tool,), "d")
    texts = Texts()

    told = [
        listed([server], texts),
        taken("calc", Listing((tool,), "e", ("_channel_: its name cannot be used",)), (), texts),
    ]

    for text in told:
        assert called(render.message(Shape("", "", body=text), WORDS)) == []
