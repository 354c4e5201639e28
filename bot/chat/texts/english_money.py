"""The sentences in English about money, caps and queues; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

MONEY: Final[Mapping[str, str]] = {
    # Whose limit it is.
    "cap.person": "{name}'s {limit} for today",
    "cap.room": "this room's {limit} for today",
    "cap.all": "the {limit} of all goals for today",
    "cap.goal": "its {limit}",
    # In the status message.
    "warning": "⚠ {share} % of {what}",
    "warning.more": " · {share} % of {what}",
    "wait.cap": "{what}: the next call might pass it. It goes on by itself.",
    "wait.slot.person": "Queued: {n} of {name}'s goals are live. It starts when one ends.",
    "wait.slot.room": "Queued: {n} goals of this room are live. It starts when one ends.",
    "wait.slot.all": "Queued: {n} goals are live. It starts when one ends.",
    # The post.
    "cap.head": "Cap reached",
    "cap.post": (
        "No call starts that might pass it. What it holds goes on by itself after {time}, within "
        "five minutes; a message is kept until then."
    ),
    "cap.post.raise.room": (
        "To let it go on sooner: an admin raises the cap where it is set, here "
        "(`/goal room cap_usd {more}`) or in the settings (`{setting}`)."
    ),
    "cap.post.raise": "To let it go on sooner: whoever runs Headway raises `{setting}`.",
    # Refusals.
    "refused.cap": "{goal} is held: {what} might be passed. It goes on by itself at {time}. "
    "An admin may let it pass: `resume {goal} anyway`. {mend}",
    "said.cap_lifted": (
        "{goal} goes on, past the caps of today. Its own budget holds: {budget}. What it spends is "
        "counted."
    ),
    "refused.slot": "{goal} waits in the queue. {what}",
    "refused.asks": "Enough of your questions are being answered. Ask again when one of them is.",
    "refused.cancelled": "{goal} was cancelled and does not change any more. Start a new goal.",
    "answer.cap": (
        "A cap of today is reached, so this was not answered. Ask again tomorrow, or have the cap "
        "raised."
    ),
    # What was spent.
    "verb.spend": "what was spent: today, in a week, by whom, on which goal or model",
    "verb.spend.example": "spend today",
    "spend.none": "Nothing was spent.",
    "spend.head.today": "Spent today in this room:",
    "spend.head.week": "Spent in the last 7 days in this room:",
    "spend.head.room": "Spent in this room so far:",
    "spend.head.mine": "Spent on your goals so far:",
    "spend.head.person": "Spent on {name}'s goals so far:",
    "spend.head.goal": "Spent on {name}:",
    "spend.head.model": "Spent in this room by model so far:",
    "spend.line": "- **{name}** {money} · {calls} · {tokens} tokens",
    "spend.total": "- **All** {money} · {calls} · {tokens} tokens",
    "spend.call": "1 call",
    "spend.calls": "{n} calls",
    "spend.estimated": " ({amount} of it estimated)",
    "spend.unpriced": " and {tokens} tokens at no known price",
    "spend.asks": "questions",
    "spend.elsewhere": "in other rooms",
    "spend.others": "{n} more",
    "spend.caps": "Of today's caps: {caps}.",
    "spend.cap": "{spent} of {what}",
    "spend.nobody": "Nobody called {name} has spent anything here.",
}
