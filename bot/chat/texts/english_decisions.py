"""The sentences in English about decisions, plans and what was allowed; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

DECISIONS: Final[Mapping[str, str]] = {
    # Answers that cards offer. Slack shows about 30 characters of a button.
    "offer.once": "Approve once",
    "offer.goal": "For this goal",
    "offer.always": "Always here",
    "offer.approval.no": "Deny",
    "offer.plan.yes": "Approve",
    "offer.plan.no": "Reject",
    "offer.sign_off.yes": "Accept",
    "offer.sign_off.no": "Reject",
    "offer.review.yes": "Apply",
    "offer.review.no": "Discard",
    "button.deny_why": "Deny with a reason",
    "button.change_plan": "Change it",
    # The exact words that answer: those for yes, then those for no.
    "words.approval": "approve yes|deny no",
    "words.plan": "approve accept yes|reject no",
    "words.sign_off": "accept yes|reject no",
    "words.review": "apply yes|discard no",
    "words.approve.once": "approve|approve once|yes",
    "words.approve.goal": "approve for goal|approve for this goal|for this goal",
    "words.approve.always": "approve always|approve always here|always here",
    "words.because": "because",
    "bad.for_a_card": (
        "`{text}` answers a card, so no goal was started. Say it in the thread of its goal, with the "
        "card's number: `approve 1`."
    ),
    # Cards.
    "decision.gone": "What was asked is no longer kept, so nobody can say yes to it.",
    "decision.why": "Why: {why}",
    "decision.tool": "Tool: {name}",
    "decision.further": "“{goal}” and “{always}” allow {what}.",
    "decision.who.approval": "Answered by an approver or an admin.",
    "decision.who.approval.self": "Answered by its owner, an approver or an admin.",
    "decision.who.approval.four_eyes": "Answered by an approver or an admin who is not its owner.",
    "decision.who.four_eyes": "Answered by an approver or an admin who is not its owner.",
    "decision.says.approval": (
        "Say `approve{number}` or `deny{number}`; `deny{number}: because …` tells the agent why."
    ),
    "decision.says.approval.further": (
        "Say `approve{number}`, `approve for goal{number}`, `approve always{number}` or "
        "`deny{number}`; `deny{number}: because …` tells the agent why."
    ),
    "decision.says.plan": (
        "Say `approve{number}` or `reject{number}`; anything else says what to change."
    ),
    "decision.says.other": "Say `{yes}{number}` or `{no}{number}`.",
    "decision.of.plan": "plan",
    "decision.of.review": "changes",
    "decision.of.approval": "approval",
    "decision.of.sign_off": "sign-off",
    "decision.approved.once": "→ Approved, this once.",
    "decision.approved.goal": "→ Approved, and for the rest of this goal: {what}.",
    "decision.approved.always": "→ Approved, and from now on in this room: {what}.",
    "decision.denied": "→ Denied.",
    "decision.denied.why": "→ Denied: {why}",
    "decision.came.plan.yes": "→ Approved.",
    "decision.came.plan.no": "→ Rejected.",
    "decision.came.plan.edits": "→ To be changed: {answer}",
    "decision.came.review.yes": "→ Applied.",
    "decision.came.review.no": "→ Discarded.",
    # What was allowed.
    "allows.command": "commands that begin with {what}",
    "allows.host": "connections to {what}",
    "allows.tool": "calls of the tool {what}",
    "allowed.gone": "something whose text is gone",
    "allowed.line": "Allowed by {name}: {what}",
    "allowed.line.always": "Allowed by {name} for the room: {what}",
    # Plans.
    "status.planning": "making a plan; until somebody approves it, it only looks",
    "plan.approved": "Plan, approved by {name}",
    "plan.approved.bare": "Plan, approved",
    "blocked.plan_rejected": "the plan was rejected",
    "blocked.plan_rejected.mend": (
        "To go on: say here what the plan should be instead; Resume makes another one."
    ),
    "verb.plan": "start a goal with a plan: it only looks until somebody approves what it is to do",
    "verb.plan.example": "plan move the nightly build to the new runner",
    "bad.empty.plan": "`plan` needs an objective behind it: `plan <objective>`.",
    # Refusals.
    "said.number_first": (
        "That card is long: say it with its number, `{word} {number}`, once you have read the whole."
    ),
    "said.once_only": "That call can be approved once and no further: `approve {number}`.",
    "said.may_not.always": (
        "You may not allow that for the whole room: it takes an admin. `approve {number}` allows it once."
    ),
    # Forms.
    "window.deny": "Deny in {goal}",
    "window.deny.label": "Why not",
    "window.deny.hint": "The agent reads it and goes on without the call. At most {most} characters.",
    "window.deny.submit": "Deny",
    "window.change": "Change plan of {goal}",
    "window.change.label": "What should be different",
    "window.change.hint": "The agent makes the plan anew with it. At most {most} characters.",
    "window.change.submit": "Send",
    "window.plan_first": "Plan first",
    "window.plan_first.hint": (
        "Where the room's settings say `plan_first`, every goal begins so, ticked or not."
    ),
    "window.plan_first.label": "It only looks until somebody approves its plan",
}
