"""The caps of a day and the queue of goals, as the process keeps them."""

from typing import Final

from adapters.store.open import Store
from adapters.store.tallies import Guard
from bot.chat.caps import cap_named
from bot.chat.delivery import Delivery
from bot.chat.facts import Manner
from bot.chat.operations import Operations
from bot.ports.spending import Spent, Swept
from bot.settings import Settings
from scheduler.alarms import Alarms
from scheduler.worker import Worker

LOOK_S: Final = 2.0
"""The longest that a goal is held for a cap that was raised; the day's end is a row's due time."""
KIND: Final = "cap"


def guard_of(settings: Settings) -> Guard:
    """The limits that the store keeps to."""
    return Guard(settings.caps, settings.tz)


def keep_caps(
    alarms: Alarms,
    store: Store,
    worker: Worker,
    delivery: Delivery,
    operations: Operations,
    manner: Manner,
) -> None:
    """Look again and again at what is held, and tell the operations room which cap it is."""

    async def look() -> None:
        swept = await store.spending.sweep()
        for goal in swept.freed:
            worker.wake(goal)
            delivery.notify()
        if not swept.is_on_hold:
            await _tell(operations, swept, manner)

    alarms.add("caps", look, LOOK_S)


async def _tell(operations: Operations, swept: Swept, manner: Manner) -> None:
    """Each cap that holds goals once, and once when it does not any more."""
    holding = {_subject(spent): spent for spent in swept.spent}
    for subject, spent in holding.items():
        if (KIND, subject) in operations.open:
            continue
        detail = cap_named(spent.scope, spent.limit, spent.name, manner, in_tokens=spent.in_tokens)
        await operations.trouble(KIND, subject, detail)
    for kind, subject in operations.open:
        if kind == KIND and subject not in holding:
            operations.mended(KIND, subject)


def _subject(spent: Spent) -> str:
    return f"{spent.scope} {spent.name}".strip()
