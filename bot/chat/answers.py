"""
Whether a text answers an open decision.

Rule 1: approvals, plans, sign-offs and reviews are answered by their exact words or a number alone, with
        the card's number where it is given; any other text is said to the agent, never a yes. What may
        stand in a file is answered with a yes only where the card's number is.
Rule 2: a no may bring its reason behind a colon, or behind `because`.
Rule 3: a question is answered by the number or the words of an option, or by any text when it is
        the only open decision and its goal is deciding, or when the text replies to its card.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

from bot.chat.facts import Facts, Manner
from bot.chat.offers import Answer, is_long, offers, words_of
from bot.chat.rights import Act
from bot.goals.goal import Decision, State
from bot.goals.hands import SCOPES

IN_WORDS: Final = frozenset({"question", "approval", "plan"})
"""Kinds of decisions whose cards have a form: none of them takes a yes to a call or a plan there."""
Lacking = Literal["", "number", "scope"]
"""What keeps a text from being a yes that was meant as one: the card's number, or that so much is offered."""
_NUMBERED: Final = re.compile(r"(\S.*?)\s+(\d{1,9})")
_BEFORE_REASON: Final = re.compile(r"(\w+)\s+(\d{1,9})\s*(?::|,?\s+\w)")


def act_of(decision: Decision) -> Act:
    """The right that it takes to answer."""
    match decision.kind:
        case "question":
            return Act.ANSWER
        case "approval":
            return Act.APPROVE
        case "plan" | "sign_off" | "review":
            return Act.ACCEPT


def by_number(number: int, facts: Facts, manner: Manner) -> Answer | None:
    """The answer that a card offers under that number, whatever numbers the answers are."""
    decision = _open(facts)
    if decision is None:
        return None
    offered = offers(decision, facts.goal.reason, facts, manner)
    return offered[number - 1].answer if 1 <= number <= len(offered) else None


def by_sign(is_yes: bool, facts: Facts, manner: Manner) -> Answer | None:
    """What a plain yes or no answers: a yes goes no further than it must."""
    decision = _open(facts)
    if decision is None or decision.kind == "question":
        return None
    offered = [one.answer for one in offers(decision, facts.goal.reason, facts, manner)]
    return next((one for one in offered if one.is_accepted is is_yes), None)


def exact(text: str, facts: Facts, manner: Manner) -> Answer | None:
    """The answer, when the text is the number or the very words of one."""
    decision = _open(facts)
    if decision is None:
        return None
    if decision.kind == "question":
        return _option(_plain(text), decision, facts, manner)
    found, has_number = _meant(text, decision, facts, manner)
    if found is None or (found.is_accepted and not has_number and is_long(decision, facts)):
        return None
    return found if _is_offered(found, decision, facts, manner) else None


def lacking(text: str, facts: Facts, manner: Manner) -> Lacking:
    """What keeps a text from being the answer that its words mean; nothing where it is one, or is none."""
    decision = _open(facts)
    if decision is None or decision.kind == "question":
        return ""
    found, has_number = _meant(text, decision, facts, manner)
    if found is None:
        return ""
    if not _is_offered(found, decision, facts, manner):
        return "scope"
    return "number" if found.is_accepted and not has_number and is_long(decision, facts) else ""


def named(text: str) -> int:
    """The number that a text ends with, or that comes before its reason; 0 where there is none."""
    found = _NUMBERED.fullmatch(_plain(text)) or _BEFORE_REASON.match(text.strip())
    return int(found[2]) if found is not None else 0


def in_words(text: str, facts: Facts, *, replies_to_card: bool) -> Answer | None:
    """The answer, when any text would be one."""
    decision = facts.goal.decision
    if decision is None or decision.answered or decision.kind != "question":
        return None
    if facts.goal.state is State.DECIDING or (replies_to_card and _is_open(facts)):
        return Answer(text)
    return None


def in_form(text: str, facts: Facts, manner: Manner) -> Answer | None:
    """What a card's form answers: a question in words, a call's no with its reason, a plan's changes."""
    decision = _open(facts)
    match decision.kind if decision else "":
        case "question":
            return exact(text, facts, manner) or in_words(text, facts, replies_to_card=True)
        case "approval":
            return Answer(text, is_accepted=False)
        case "plan":
            return Answer(text, is_accepted=False, edits=True)
        case _:
            return None


def _option(said: str, decision: Decision, facts: Facts, manner: Manner) -> Answer | None:
    for number, one in enumerate(offers(decision, facts.goal.reason, facts, manner), 1):
        if said in (str(number), _plain(one.label)):
            return one.answer
    return None


def _meant(
    text: str, decision: Decision, facts: Facts, manner: Manner
) -> tuple[Answer | None, bool]:
    """The answer whose very words a text is, and whether it names the card's number."""
    said = _plain(text)
    if said.isascii() and said.isdigit():
        return by_number(int(said[:9]), facts, manner), False
    known, numbered = _words(decision, manner), _NUMBERED.fullmatch(said)
    if said in known:
        return known[said], False
    if numbered is not None and int(numbered[2]) == decision.number and numbered[1] in known:
        return known[numbered[1]], True
    return _reasoned(text, decision, manner), False


def _words(decision: Decision, manner: Manner) -> Mapping[str, Answer]:
    """The answers by their exact words."""
    yes, no = words_of(decision.kind, manner)
    known = {word: Answer(yes[0]) for word in yes}
    known |= {word: Answer(no[0], is_accepted=False) for word in no}
    if decision.kind == "approval":
        for scope in SCOPES:
            first, *others = manner.texts(f"words.approve.{scope}").split("|")
            known |= {word: Answer(first, scope=scope) for word in (first, *others)}
    return known


def _reasoned(text: str, decision: Decision, manner: Manner) -> Answer | None:
    """The no of an approval, with its reason."""
    if decision.kind != "approval":
        return None
    words, because = "|".join(words_of("approval", manner)[1]), manner.texts("words.because")
    form = rf"(?:{words})(?:\s+(\d{{1,9}}))?(?:\s*:(?:\s*{because}\b)?|,?\s+{because}\b)\s*(\S.*)"
    found = re.fullmatch(form, text.strip(), re.IGNORECASE | re.DOTALL)
    if found is None or (found[1] and int(found[1]) != decision.number):
        return None
    return Answer(found[2].strip(), is_accepted=False)


def _is_offered(answer: Answer, decision: Decision, facts: Facts, manner: Manner) -> bool:
    if not answer.is_accepted:
        return True
    offered = [one.answer for one in offers(decision, facts.goal.reason, facts, manner)]
    return any(one == replace(answer, text=one.text) for one in offered)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".!")


def _open(facts: Facts) -> Decision | None:
    decision = facts.goal.decision
    return decision if decision is not None and not decision.answered and _is_open(facts) else None


def _is_open(facts: Facts) -> bool:
    # What a running turn has asked for is not open before the turn ends.
    goal = facts.goal
    return goal.state is State.DECIDING or (
        goal.state is State.PAUSED and goal.decision is not None
    )
