"""
Whether a text answers an open decision.

Rule 1: approvals, plans, sign-offs and reviews are answered by their exact word or number alone,
        with the card's number where it is given; any other text is said to the agent, never a yes.
Rule 2: a question is answered by the number or the words of an option, or by any text when it is
        the only open decision and its goal is deciding, or when the text replies to its card.
"""

from dataclasses import dataclass

from bot.chat.facts import Facts, Manner
from bot.chat.posts import asked, words_of
from bot.chat.rights import Act
from bot.goals.goal import Decision, State


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered, and whether that is a yes."""

    text: str
    is_accepted: bool = True


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
    decision = facts.goal.decision
    if decision is None or decision.answered or not _is_open(facts):
        return None
    words = asked(decision, facts.goal.reason, facts, manner)[1]
    is_question = decision.kind == "question"
    offered = [Answer(word, is_question or n == 1) for n, word in enumerate(words, 1)]
    return offered[number - 1] if 1 <= number <= len(offered) else None


def exact(text: str, facts: Facts, manner: Manner) -> Answer | None:
    """The answer, when the text is the number or the very words of one."""
    decision = facts.goal.decision
    if decision is None or decision.answered or not _is_open(facts):
        return None
    said = " ".join(text.split()).casefold().rstrip(".!")
    if decision.kind != "question":
        return _exact_word(said, decision, manner)
    _, options = asked(decision, facts.goal.reason, facts, manner)
    for number, option in enumerate(options, 1):
        if said in (str(number), " ".join(option.split()).casefold().rstrip(".!")):
            return Answer(option)
    return None


def in_words(text: str, facts: Facts, *, replies_to_card: bool) -> Answer | None:
    """The answer, when any text would be one."""
    decision = facts.goal.decision
    if decision is None or decision.answered or decision.kind != "question":
        return None
    if facts.goal.state is State.DECIDING or (replies_to_card and _is_open(facts)):
        return Answer(text)
    return None


def _exact_word(said: str, decision: Decision, manner: Manner) -> Answer | None:
    yes, no = words_of(decision.kind, manner)
    word = said.removesuffix(f" {decision.number}")
    if word in (*yes, "1"):
        return Answer(yes[0])
    if word in (*no, "2"):
        return Answer(no[0], is_accepted=False)
    return None


def _is_open(facts: Facts) -> bool:
    # What a running turn has asked for is not open before the turn ends.
    goal = facts.goal
    return goal.state is State.DECIDING or (
        goal.state is State.PAUSED and goal.decision is not None
    )
