"""
What a decision asks of people, and the answers that its card offers. Pure.

Rule 1: a card shows the whole of what is asked; of an approval whose call is gone, only a no is offered.
Rule 2: the answers are numbered in their order, the same on every network and for as long as it is open.
Rule 3: what goes further than one call is offered only where the decision says what that would be.
"""

import json
import shlex
from dataclasses import dataclass
from typing import Final

from bot.chat.facts import Facts, Manner
from bot.chat.texts import Texts
from bot.goals.goal import Decision
from bot.goals.hands import Grant, GrantKind, Scope
from bot.ports.plain import printable
from bot.ports.question import read
from bot.tools import calls

LONG: Final = 2_000
"""Characters of a call or a diff that every network shows whole; of a longer one the words of an answer
need the card's number, as what they are about may be in a file."""
FILES: Final = {"approval": "call.md", "plan": "plan.md", "review": "changes.md"}
"""The name of the file that what is asked becomes where a message cannot hold it."""
_GRANTED: Final[tuple[Scope, ...]] = ("once", "goal", "always")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered, and what follows: whether that is a yes, how far it goes, whether it edits."""

    text: str
    is_accepted: bool = True
    scope: Scope = "once"
    edits: bool = False
    """Of a plan: it says what should be different."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An answer that a card offers, as its button says it."""

    label: str
    answer: Answer


def words_of(kind: str, manner: Manner) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The exact words that mean yes, and those that mean no, to a decision of this kind."""
    yes, _, no = manner.texts(f"words.{kind}").partition("|")
    return tuple(yes.split()), tuple(no.split())


def offers(decision: Decision, rule: str, facts: Facts, manner: Manner) -> tuple[Offer, ...]:
    """The answers that the card offers, in their order."""
    texts = manner.texts
    if decision.kind == "question":
        return tuple(Offer(one, Answer(one)) for one in _question(decision, rule, facts, manner)[1])
    yes, no = words_of(decision.kind, manner)
    denied = Offer(texts(f"offer.{decision.kind}.no"), Answer(no[0], is_accepted=False))
    if decision.kind != "approval":
        return Offer(texts(f"offer.{decision.kind}.yes"), Answer(yes[0])), denied
    if not facts.text(decision.text).strip():
        return (denied,)
    scopes = _GRANTED if grant_text(decision.grant, facts, manner) else _GRANTED[:1]
    return *(Offer(texts(f"offer.{scope}"), scoped(scope, manner)) for scope in scopes), denied


def scoped(scope: Scope, manner: Manner) -> Answer:
    """A yes to a call that goes so far, in its words."""
    return Answer(manner.texts(f"words.approve.{scope}").partition("|")[0], scope=scope)


def asked(
    decision: Decision, rule: str, facts: Facts, manner: Manner
) -> tuple[str, tuple[str, ...]]:
    """What a decision asks, as Markdown, and the labels of the answers that it offers."""
    labels = tuple(one.label for one in offers(decision, rule, facts, manner))
    if decision.kind == "question":
        return _question(decision, rule, facts, manner)[0], labels
    text = facts.text(decision.text)
    if decision.kind == "approval":
        return shown_call(text, manner), labels
    shown = _plan(text) if decision.kind == "plan" else text.strip()
    return shown or manner.texts("decision.gone"), labels


def in_brief(decision: Decision, facts: Facts, manner: Manner) -> str:
    """What it asks, for a line of a list: of a call its tool and what that is to do."""
    call = calls.read(facts.text(decision.text)) if decision.kind == "approval" else None
    if call is None:
        return asked(decision, "", facts, manner)[0]
    return call.body if call.form == "bash" else f"{call.tool} {call.body}"


def is_long(decision: Decision, facts: Facts) -> bool:
    """Whether a card may have to put what it asks into a file: then words take its number."""
    is_exact = decision.kind in ("approval", "review")
    return is_exact and len(facts.text(decision.text)) > LONG


def grant_text(grant: Grant | None, facts: Facts, manner: Manner) -> str:
    """What a permission allows, in words; empty where there is none, or its text is gone."""
    what = facts.text(grant.what) if grant is not None else ""
    if grant is None or not what:
        return ""
    return allows(grant.kind, what, manner.texts)


def allows(kind: GrantKind, what: str, texts: Texts) -> str:
    """What a permission of that kind allows, in words; `what`: as it is kept."""
    return texts(f"allows.{kind}", what=_code(_prefix(what) or what))


def shown_call(text: str, manner: Manner) -> str:
    """The call whole: why people are asked, the tool, and what it is to do, as code."""
    if not text.strip():
        return manner.texts("decision.gone")
    call = calls.read(text)
    if call is None:
        return text.strip()
    block = text[text.index("\n\n") + 2 :]
    why = manner.texts("decision.why", why=_line(call.why)) if call.why else ""
    tool = "" if call.form == "bash" else manner.texts("decision.tool", name=_code(call.tool))
    return "\n\n".join(part for part in (why, tool, block) if part)


def _question(
    decision: Decision, rule: str, facts: Facts, manner: Manner
) -> tuple[str, tuple[str, ...]]:
    question = read(facts.text(decision.text))
    if question.text:
        return question.text, question.options
    key = "decision.parked" if rule == "parked_too_often" else "decision.empty"
    return manner.texts(key, ref=facts.goal.parked_ref), ()


def _plan(text: str) -> str:
    """A plan with its steps as they are listed: their numbers would be taken for those of answers."""
    plan = read(text)
    listed = "\n".join(f"- {step}" for step in plan.options)
    return "\n\n".join(part for part in (plan.text, listed) if part)


def _prefix(what: str) -> str:
    """The words of a command, as a shell reads them; empty where the text is no list of words."""
    try:
        words = json.loads(what)
    except ValueError:
        return ""
    is_words = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return shlex.join(words) if is_words else ""


def _code(text: str) -> str:
    return f"`{_line(text).replace('`', chr(39))}`"


def _line(text: str) -> str:
    return " ".join(printable(text).split())
