"""What people said to the calls that were put before them: a part of `bot.agent.transcript`. Pure."""

from dataclasses import dataclass
from typing import Literal

from bot.goals.events import DecisionAnswered, DecisionExpired
from bot.goals.goal import Decision
from bot.goals.hands import Grant

Said = Literal["yes", "no", "expired"]


@dataclass(frozen=True, slots=True)
class Approval:
    """One call's decision once it is closed. `call`: the hash of the very call; `answer`: a content."""

    decision: str
    call: str
    said: Said
    by: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Closed:
    """An approval with what it is about: a call, by its id, and what else was allowed with it."""

    tool_use: str
    approval: Approval
    grant: Grant | None = None


def closed(decision: object, event: DecisionAnswered | DecisionExpired) -> Closed | None:
    """What became of an approval, or None where the decision was none."""
    if not isinstance(decision, Decision) or decision.kind != "approval":
        return None
    if isinstance(event, DecisionExpired):
        return Closed(decision.tool_use, Approval(decision.id, decision.call, "expired"))
    said: Said = "yes" if event.accepted else "no"
    approval = Approval(decision.id, decision.call, said, event.by, event.answer)
    goes_on = event.accepted and event.scope != "once"
    return Closed(decision.tool_use, approval, decision.grant if goes_on else None)
