"""The request: valid whatever the journal holds, and true to it."""

import json
from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.agent.prompts import CUT, GO_ON, put_back
from bot.agent.request import KEPT_COMPACTIONS, Parsed, build, messages
from bot.agent.transcript import Transcript
from bot.goals import events as e
from bot.goals.estimate import estimate_tokens
from bot.ports.model import Json
from tests.bot.agent.journals import Session, sessions
from tests.bot.agent.validity import assert_valid


@settings(max_examples=200, deadline=None)
@given(sessions())
def test_every_journal_of_a_session_makes_a_valid_request_for_each_of_its_goals(
    session: Session,
) -> None:
    for goal in session.goals:
        assert_valid(build(session.lines, session.contents, goal=goal))


@settings(max_examples=100, deadline=None)
@given(sessions(), st.data())
def test_a_journal_that_ends_anywhere_makes_a_valid_request(
    session: Session, data: st.DataObject
) -> None:
    end = data.draw(st.integers(1, len(session.lines)))
    lines = session.lines[:end]

    for goal in {line.goal for line in lines}:
        assert_valid(build(lines, session.contents, goal=goal))


@settings(max_examples=100, deadline=None)
@given(sessions())
def test_what_a_person_said_is_told_exactly_once(session: Session) -> None:
    goal = session.lines[0].goal
    own = [line.entry.event for line in session.lines if line.goal == goal]
    said = [session.contents.get(x.content, "") for x in own if isinstance(x, e.MessageReceived)]
    assume(not any(isinstance(event, e.Compacted) for event in own))
    assume(not session.folds[goal].own.open_call)
    # What was taken back is told when the next turn begins.
    turns = [place for place, event in enumerate(own) if isinstance(event, e.TurnStarted)]
    assume(not any(isinstance(event, e.Rewound) for event in own[max(turns, default=0) :]))

    told = build(session.lines, session.contents, goal=goal)

    text = json.dumps(told)
    assume(text.count('"compaction"') < KEPT_COMPACTIONS)
    is_alone = told[-1]["role"] == "assistant"
    for words in said:
        mark = words.split(" ")[0]
        assert not mark or text.count(mark) == 1 or (is_alone and mark not in text)


@settings(max_examples=100, deadline=None)
@given(sessions(), st.data())
def test_what_is_remembered_of_a_conversation_tells_and_weighs_the_same(
    session: Session, data: st.DataObject
) -> None:
    goal = session.lines[0].goal
    transcript, parsed, contents = Transcript(goal), Parsed(), dict(session.contents)
    changed = data.draw(st.lists(st.sampled_from(sorted(contents)), max_size=3, unique=True))
    is_gone = data.draw(st.booleans())

    for place, line in enumerate(session.lines):
        transcript.feed(line)
        if place == len(session.lines) // 2:
            for hash in changed:
                if is_gone:
                    del contents[hash]
                elif not contents[hash].startswith(("[", "{")):
                    contents[hash] = "(forgotten) in part"
        pieces = transcript.own.pieces
        remembered = messages(pieces, contents, parsed=parsed)

        assert remembered == messages(pieces, contents)
        assert parsed.tokens(remembered) == estimate_tokens(messages=remembered)


@settings(max_examples=100, deadline=None)
@given(sessions())
def test_what_was_sent_once_stays_the_beginning_of_what_is_sent_later(session: Session) -> None:
    goal = session.lines[0].goal
    calls = [
        place
        for place, line in enumerate(session.lines, 1)
        if line.goal == goal and line.entry.rule == "call_started"
        if isinstance(line.entry.event, e.CallStarted) and line.entry.event.role != "distil"
    ]
    taken_back = (e.Compacted, e.Rewound)
    assume(not any(isinstance(line.entry.event, taken_back) for line in session.lines))

    sent = [build(session.lines[:place], session.contents, goal=goal) for place in calls]

    for before, after in pairwise(sent):
        assume(json.dumps(after).count('"compaction"') < KEPT_COMPACTIONS)
        assert _texts(before) == _texts(after)[: len(_texts(before))]


def _texts(messages: tuple[Json, ...]) -> list[str]:
    """What people and the loop said, without what only closes an open end."""
    return [
        block["text"]
        for message in messages
        for block in message["content"]
        if message["role"] == "user" and block["type"] == "text"
        if block["text"] not in (GO_ON, CUT) and not block["text"].startswith(put_back())
    ]
