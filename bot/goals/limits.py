"""Every number of the goal's life, in one place. Each is a setting; these are the defaults."""

from dataclasses import dataclass
from typing import Final

from bot.goals.money import NANO, Budget


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers that the rules use (design, section 2). Seconds, tokens, counts."""

    continuations: int = 20
    continuations_most: int = 60
    """Progress adds one continuation a turn, up to this many."""
    stall_turns: int = 3
    blocked_audits: int = 3
    audit_failures: int = 2
    compactions_in_a_row: int = 2
    gate_breaks: int = 3
    parkings_on_one_ref: int = 3
    quiet_s: float = 3.0
    quiet_after_message_s: float = 600.0
    question_expires_s: float = 72 * 3600.0
    approval_expires_s: float = 24 * 3600.0
    permission_lasts_s: float = 30 * 24 * 3600.0
    """Of a standing permission."""
    wait_most_s: float = 7 * 24 * 3600.0
    """The back-stop of a wait that names no time."""
    probe_first_s: float = 30.0
    probe_most_s: float = 900.0
    audit_held_back_tokens: int = 4_000
    """Always kept for the audit of the turn that crosses the budget."""
    wrap_up_calls: int = 3
    wrap_up_output_tokens: int = 4_000


LIMITS: Final = Limits()

SLOT_WAIT_S: Final = 10 * 365 * 24 * 3600.0
"""How long a queued goal waits: until a live one ends, however long that takes."""
SLOT_LOOK_S: Final = 3_600.0
"""How often a queued goal is looked at when nothing has told that a live one ended."""

LEAST_BUDGET_TOKENS: Final = 20_000
MOST_USD: Final = 1_000_000
"""What a budget or a cap may be; more is a slip, and past 64 bits of nano-dollars no column holds it."""
MOST_TOKENS: Final = 10**12
MOST_HOURS: Final = 10_000
MOST_DAYS: Final = 36_500
OBJECTIVE_CHARS: Final = 4_000
"""A longer objective is stored as a brief, by hash (design, section 2)."""
OBJECTIVE_MOST_BYTES: Final = 64 * 1024
"""Longer than this is refused: it belongs in a file."""
DEFAULT_BUDGET: Final = Budget(nano_usd=2 * NANO, tokens=2_000_000, active_s=4 * 3600.0)
ASK_BUDGET: Final = Budget(nano_usd=NANO // 4, tokens=200_000, active_s=600.0)
"""Of an ordinary turn: a message to a paused or ended goal, or `ask`."""
