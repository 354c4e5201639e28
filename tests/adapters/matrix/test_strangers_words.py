"""What agents, tools, files and servers put into a post calls nobody in Matrix, whichever part of it it is."""

from dataclasses import replace

import pytest

from adapters.matrix import render
from bot.ports.chat import Shape
from tests.adapters.matrix.test_render import MANNER, ROOM

HOSTILE = (
    "@room @ann:example.org <a href='https://matrix.to/#/@ann:example.org'>Ann</a> "
    "[Ann](https://matrix.to/#/@ann:example.org)"
)
PLAIN = Shape("✅", "Complete", ("G12",), body="Done.")
PARTS = {
    "the agent's reply": replace(PLAIN, body=HOSTILE),
    "a fact": replace(PLAIN, facts=(HOSTILE,)),
    "what runs now": replace(PLAIN, now=f"Now: running {HOSTILE}"),
    "a task": replace(PLAIN, tasks=((HOSTILE, "doing"),)),
    "a note with a file's name": replace(PLAIN, notes=(f"Files: {HOSTILE}",)),
    "an option": replace(PLAIN, options=(HOSTILE, "no")),
}


@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_a_post_that_a_stranger_wrote_calls_anybody(part: str) -> None:
    content = render.message(PARTS[part], MANNER, room=ROOM)

    assert content["m.mentions"] == {}
    assert "@room" not in content["body"]
    assert 'href="https://matrix.to/#/@' not in content.get("formatted_body", "")
