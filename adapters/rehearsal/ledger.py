"""What was served, which keys are good, and which faults are waiting.

*Served* means generated, and so billed; *delivered* means written to the end. A client that dies
in the middle of a call changes the second and never the first.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from adapters.rehearsal.script import Fault

TOKEN_CLASSES = ("input", "cache_write", "cache_read", "output")


@dataclass(slots=True)
class CallRecord:
    """One request to /v1/messages, whatever became of it. Times are seconds since the start."""

    index: int
    role: str
    model: str
    key: str
    request_sha: str
    conversation: str
    user: str | None
    opening: str
    started_s: float
    status: int = 0
    error_type: str | None = None
    fault: str | None = None
    stop_reason: str | None = None
    message_id: str | None = None
    tokens: dict[str, int] = field(default_factory=dict)
    served: bool = False
    delivered: bool = False
    ended_s: float | None = None


@dataclass(slots=True)
class WaitingFault:
    """A fault for the next `left` calls that match; None means until it is cleared."""

    fault: Fault
    left: int | None
    role: str | None = None
    contains: str | None = None

    def matches(self, role: str, opening: str) -> bool:
        """Whether a call of this role and first user text is hit."""
        return self.role in (None, role) and (self.contains is None or self.contains in opening)


class Ledger:
    """Every call served since the start or the last reset."""

    def __init__(self) -> None:
        self.calls: list[CallRecord] = []

    def open(self, record: CallRecord) -> None:
        """Begin a call."""
        self.calls.append(record)

    def reset(self) -> None:
        """Forget every call; those still running keep their record."""
        self.calls = []

    def select(self, wanted: Mapping[str, str]) -> list[CallRecord]:
        """The calls that match: role, model, conversation, user, key, contains, status, since."""
        return [record for record in self.calls if _matches(record, wanted)]

    def totals(self, wanted: Mapping[str, str]) -> dict[str, Any]:
        """Counts and tokens of the matching calls: in all, by conversation, user and role."""
        chosen = self.select(wanted)
        return {
            "calls": len(chosen),
            "served": sum(1 for r in chosen if r.served),
            "delivered": sum(1 for r in chosen if r.delivered),
            "in_flight": sum(1 for r in chosen if r.ended_s is None),
            "statuses": {str(k): n for k, n in Counter(r.status for r in chosen).items()},
            "tokens": _summed(chosen),
            "tokens_delivered": _summed(r for r in chosen if r.delivered),
            "conversations": _grouped(chosen, "conversation"),
            "users": _grouped(chosen, "user"),
            "roles": _grouped(chosen, "role"),
        }


class Faults:
    """The faults that wait for a call, first in, first out."""

    def __init__(self) -> None:
        self._waiting: deque[WaitingFault] = deque()

    def add(self, waiting: WaitingFault) -> None:
        """Queue a fault."""
        self._waiting.append(waiting)

    def clear(self) -> None:
        """Drop every waiting fault."""
        self._waiting.clear()

    def take(self, role: str, opening: str) -> Fault | None:
        """The fault for this call, used up by it."""
        for waiting in self._waiting:
            if not waiting.matches(role, opening):
                continue
            if waiting.left is not None:
                waiting.left -= 1
                if waiting.left <= 0:
                    self._waiting.remove(waiting)
            return waiting.fault
        return None

    def as_json(self) -> list[dict[str, Any]]:
        """What waits, for a look."""
        return [asdict(waiting) for waiting in self._waiting]


class Keys:
    """The API keys that are good; with no keys at all, any is."""

    def __init__(self, accepted: Iterable[str] = ()) -> None:
        self._accepted = set(accepted)
        self._known = set(self._accepted)
        self._open = not self._accepted

    def accept(self, keys: Iterable[str]) -> None:
        """Make keys good."""
        for key in keys:
            self._accepted.add(key)
            self._known.add(key)
            self._open = False

    def revoke(self, keys: Iterable[str]) -> None:
        """Make keys bad, from the next request on."""
        for key in keys:
            self._accepted.discard(key)
            self._known.add(key)
            self._open = False

    def is_good(self, key: str) -> bool:
        """Whether a request with this key is answered."""
        return bool(key) and (self._open or key in self._accepted)

    def shown(self, key: str) -> str:
        """The key as it may be recorded: only keys that were made up for this server."""
        return key if key in self._known else "unknown"

    def as_json(self) -> dict[str, Any]:
        """Which keys are good."""
        return {"accepted": sorted(self._accepted), "any": self._open}


def _matches(record: CallRecord, wanted: Mapping[str, str]) -> bool:
    for name in ("role", "model", "conversation", "user", "key"):
        if name in wanted and getattr(record, name) != wanted[name]:
            return False
    if "status" in wanted and str(record.status) != wanted["status"]:
        return False
    if "since" in wanted and record.index < int(wanted["since"]):
        return False
    return "contains" not in wanted or wanted["contains"] in record.opening


def _summed(records: Iterable[CallRecord]) -> dict[str, int]:
    totals = dict.fromkeys(TOKEN_CLASSES, 0)
    for record in records:
        if record.served:
            for name, count in record.tokens.items():
                totals[name] += count
    return totals


def _grouped(records: list[CallRecord], name: str) -> dict[str, Any]:
    groups: dict[str, list[CallRecord]] = {}
    for record in records:
        groups.setdefault(str(getattr(record, name)), []).append(record)
    return {
        key: {"calls": len(group), "tokens": _summed(group), "opening": group[0].opening}
        for key, group in groups.items()
    }
