"""
What a rewind cannot take back: what a goal did in the world since the point that it goes back to. Pure.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from bot.goals.events import FileShared, MessageReceived, ToolStarted
from bot.goals.machine import Entry


@dataclass(frozen=True, slots=True)
class Lasting:
    """What stays done. `external`: names of tools that changed something outside, with how often."""

    external: tuple[tuple[str, int], ...] = ()
    shared: int = 0
    """Files that were given to the thread."""
    approved: int = 0
    """Calls that people had allowed, and that were made."""
    messages: int = 0

    def __bool__(self) -> bool:
        return bool(self.external or self.shared or self.approved)


def lasting(entries: Iterable[Entry], to_seq: int) -> Lasting:
    """What happened after that entry, and is not undone by going back to it."""
    external: Counter[str] = Counter()
    shared = approved = messages = 0
    for entry in entries:
        if entry.seq <= to_seq:
            continue
        match entry.event:
            case ToolStarted(name=name, effects=effects, allowed=allowed):
                external[name] += effects == "external"
                approved += allowed.startswith(("once:", "goal:", "always:"))
            case FileShared():
                shared += 1
            case MessageReceived():
                messages += 1
            case _:
                pass
    return Lasting(tuple(sorted((+external).items())), shared, approved, messages)


def said_since(entries: Iterable[Entry], to_seq: int) -> tuple[str, ...]:
    """Hashes of what people said after that entry, as the goal heard it."""
    later = (entry.event for entry in entries if entry.seq > to_seq)
    return tuple(event.content for event in later if isinstance(event, MessageReceived))
