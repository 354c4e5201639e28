"""What the agent is told of a call that did not run, as its result."""

from typing import Final

from bot.agent.approved import Approval
from bot.tools.policy.verdict import Denied
from bot.tools.untrusted import unlabelled

WITHDRAWN: Final = "Not run: it was put before people, and withdrawn before anybody answered."
CHANGED: Final = (
    "Not run: what may run here was changed a moment before. Call it again if it is still needed."
)
OTHER_CALL: Final = "Not run: what was approved is another call than this one."
ELSEWISE: Final = "Do it another way, or say in your reply what you need and why."


def denied(denied: Denied) -> str:
    """By a policy or a rule."""
    match denied.beyond:
        case "plan":
            return (
                "Not run: no plan is approved yet, and until then only what is known to read may run. "
                "Look further, or propose your plan with propose_plan."
            )
        case "rule":
            return f"Not run: a rule of the operator's forbids it ({denied.why}). {ELSEWISE}"
        case "park":
            return (
                f"Not run: it takes a person's approval ({denied.why}), and nobody is expected to answer. "
                "The goal rests until somebody looks."
            )
        case "deny":
            return (
                f"Not run: it is not allowed here ({denied.why}), and nobody is asked. {ELSEWISE}"
            )


def nobody_approves(why: str) -> str:
    """Where nobody has the right to say yes."""
    return (
        f"Not run: it takes a person's approval ({why}), and nobody in this room may approve calls. "
        f"{ELSEWISE}"
    )


def answered(approval: Approval, answer: str, *, owner: str, lasted_s: float) -> str:
    """Where people were asked, and there was no yes.

    Args:
        answer: what they said; empty where it was erased.
        owner: of the goal.
        lasted_s: how long they had.
    """
    if approval.said == "expired":
        return f"Not run: nobody answered in {round(lasted_s / 3600)} h, and that counts as no. {ELSEWISE}"
    said = f" They said:\n{unlabelled(answer)}" if answer.strip() else ""
    who = "the owner" if approval.by == owner else approval.by or "somebody"
    return f"Not run: {who} denied it.{said}"
