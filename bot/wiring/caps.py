"""The caps of a day and the queue of goals, as the process keeps them."""

from typing import Final

from adapters.store.open import Store
from adapters.store.tallies import Guard
from bot.chat.delivery import Delivery
from bot.settings import Settings
from scheduler.alarms import Alarms
from scheduler.worker import Worker

LOOK_S: Final = 2.0
"""The longest that a goal is held for a cap that was raised; the day's end is a row's due time."""


def guard_of(settings: Settings) -> Guard:
    """The limits that the store keeps to."""
    return Guard(settings.caps, settings.tz)


def keep_caps(alarms: Alarms, store: Store, worker: Worker, delivery: Delivery) -> None:
    """Look again and again at what is held; status messages tell how much of a day's caps is spent."""
    delivery.spending = store.spending

    async def look() -> None:
        for goal in await store.spending.sweep():
            worker.wake(goal)
            delivery.notify()

    alarms.add("caps", look, LOOK_S)
