"""
The card of a decision: what is asked, who may answer and how, and what came of it. Pure.

Rule 1: all five kinds have one shape, the same on every network; where there are no buttons the words that
        answer stand in it.
Rule 2: a card says who may answer and when it counts as what, and, once it is closed, who answered and how
        far that goes.
"""

from typing import Final

from bot.chat.abilities import HAS_BUTTONS
from bot.chat.cards import Closed
from bot.chat.facts import Facts, Manner
from bot.chat.offers import FILES, asked, grant_text, is_long, offers, words_of
from bot.chat.signs import NO, YES, numbers
from bot.chat.times import moment
from bot.goals.goal import Decision
from bot.ports.chat import Button, Network, Shape
from bot.ports.mail import Due

_IN_A_FORM: Final = {
    "question": "button.words",
    "approval": "button.deny_why",
    "plan": "button.change_plan",
}
"""The label of the button that opens a form, by kind: whatever is filled in there is no yes to a call."""


def open_card(due: Due, facts: Facts, manner: Manner) -> Shape:
    """A decision that waits for its answer."""
    goal, texts, decision = facts.goal, manner.texts, facts.goal.decision
    if decision is None:
        return _gone(facts, manner)
    question, options = asked(decision, due.reason, facts, manner)
    expires = moment(decision.expires_at, facts.now, manner.zone, texts)
    reminds = (texts("decision.reminder"),) if due.kind == "reminder" else ()
    name = texts("mention", name=facts.name(goal.owner, texts))
    is_question = decision.kind == "question"
    return Shape(
        "❓",
        texts("decision", number=decision.number),
        (*head(facts, decision, manner), *reminds, name),
        body=question,
        options=options,
        notes=(
            *further(decision, facts, manner),
            *who(decision, facts, manner),
            texts(deadline_key(decision), time=expires),
            *_says(decision, facts, manner, due.place.network),
        ),
        buttons=in_a_form(decision, manner, due.place.network),
        reactions=numbers(len(options)) if is_question else _signs(decision, facts, manner),
        mentions=(goal.owner,),
        goal=goal.id,
        state="deciding",
        times=((expires, decision.expires_at),),
        is_yes_or_no=not is_question,
        file=FILES.get(decision.kind, ""),
    )


def head(facts: Facts, decision: Decision, manner: Manner) -> tuple[str, ...]:
    """`G12 · plan`."""
    kind = f"decision.of.{decision.kind}"
    of = (manner.texts(kind),) if manner.texts.has(kind) else ()
    return (manner.texts("goal", number=facts.goal.number), *of)


def deadline_key(decision: Decision) -> str:
    """The sentence that says when no answer counts as what."""
    return "decision.deadline.approval" if decision.kind == "approval" else "decision.deadline"


def further(decision: Decision, facts: Facts, manner: Manner) -> tuple[str, ...]:
    """What else a yes may allow than the call itself."""
    what, texts = grant_text(decision.grant, facts, manner), manner.texts
    if not what or len(offers(decision, "", facts, manner)) < 3:
        return ()
    labels = {"goal": texts("offer.goal"), "always": texts("offer.always")}
    return (texts("decision.further", what=what, **labels),)


def who(decision: Decision, facts: Facts, manner: Manner) -> tuple[str, ...]:
    """Who may answer, where that is not whoever may steer."""
    rule = "four_eyes" if facts.room.four_eyes else "self" if facts.room.self_approve else ""
    is_approval = decision.kind == "approval"
    if decision.kind == "question" or not (is_approval or rule == "four_eyes"):
        return ()
    key = "decision.who.approval" if is_approval else "decision.who"
    return (manner.texts(f"{key}.{rule}" if rule else key),)


def in_a_form(decision: Decision, manner: Manner, network: Network) -> tuple[Button, ...]:
    """The button that takes an answer in words, where the kind has one and the network has forms.

    A question says everywhere that words do as well.
    """
    label = _IN_A_FORM.get(decision.kind)
    if label is None or (decision.kind != "question" and network not in HAS_BUTTONS):
        return ()
    return (Button("", manner.texts(label)),)


def closed_card(due: Due, facts: Facts, manner: Manner) -> Shape:
    """The card as it stands once its question is closed: what was asked, and what came of it."""
    texts, card = manner.texts, facts.closed
    how = due.reason if due.reason in ("answered", "expired") else "withdrawn"
    by = facts.name(card.by if card else "", texts)
    first = head(facts, card.decision, manner) if card else (_goal(facts, manner),)
    return Shape(
        "❓",
        texts("decision", number=card.decision.number) if card else texts("state.deciding"),
        (*first, texts(f"decision.{how}", name=by)),
        body=asked(card.decision, "", facts, manner)[0] if card else "",
        now=came_of(card, how, facts.text(due.content), facts, manner),
        goal=facts.goal.id,
        state=facts.goal.state,
    )


def came_of(card: Closed | None, how: str, answer: str, facts: Facts, manner: Manner) -> str:
    """`→ Approved, this once.`: what came of a decision."""
    texts, kind = manner.texts, card.decision.kind if card else "question"
    if how != "answered" or card is None:
        return texts.first(f"decision.{how}.came.{kind}", f"decision.{how}.came", answer=answer)
    if kind == "approval":
        return _came_of_call(card, answer, facts, manner)
    verdict = "yes" if card.is_accepted else "edits" if card.edits else "no"
    return texts.first(f"decision.came.{kind}.{verdict}", "decision.answered.came", answer=answer)


def _came_of_call(card: Closed, answer: str, facts: Facts, manner: Manner) -> str:
    texts = manner.texts
    if card.is_accepted:
        what = grant_text(card.decision.grant, facts, manner)
        return texts(f"decision.approved.{card.scope if what else 'once'}", what=what)
    is_bare = not answer or answer in words_of("approval", manner)[1]
    return texts("decision.denied" if is_bare else "decision.denied.why", why=answer)


def _says(decision: Decision, facts: Facts, manner: Manner, network: Network) -> tuple[str, ...]:
    """The words that answer, where nothing is pressed, or where they need the card's number."""
    texts, needs_number = manner.texts, is_long(decision, facts)
    if decision.kind == "question" or (network in HAS_BUTTONS and not needs_number):
        return ()
    yes, no = words_of(decision.kind, manner)
    more = ".further" if further(decision, facts, manner) else ""
    key = f"decision.says.{decision.kind}{more}"
    shown = {"yes": yes[0], "no": no[0]}
    number = f" {decision.number}" if needs_number else ""
    return (texts.first(key, "decision.says.other", number=number, **shown),)


def _signs(decision: Decision, facts: Facts, manner: Manner) -> tuple[str, ...]:
    """The signs of a yes and of a no, those of them that are offered; of what is long, none."""
    if is_long(decision, facts):
        return ()
    return (YES, NO) if len(offers(decision, "", facts, manner)) > 1 else (NO,)


def _gone(facts: Facts, manner: Manner) -> Shape:
    """A card whose decision is over before it was ever shown."""
    texts = manner.texts
    return Shape(
        "❓",
        texts("state.deciding"),
        (_goal(facts, manner), texts("decision.withdrawn")),
        now=texts("decision.withdrawn.came"),
        goal=facts.goal.id,
    )


def _goal(facts: Facts, manner: Manner) -> str:
    return manner.texts("goal", number=facts.goal.number)
