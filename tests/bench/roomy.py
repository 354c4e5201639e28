"""Settings under which no cap and no limit of live goals is reached: a bench measures something else."""

from typing import Any, Final

ROOMY: Final[dict[str, Any]] = {
    "live_goals_person": 100_000,
    "live_goals_room": 100_000,
    "live_goals_all": 100_000,
    "cap_person_usd": 1_000_000,
    "cap_room_usd": 1_000_000,
    "cap_all_usd": 1_000_000,
    "cap_person_tokens": 10**12,
    "cap_room_tokens": 10**12,
    "cap_all_tokens": 10**12,
}


def variables() -> dict[str, str]:
    """The same for a process's environment."""
    return {f"HEADWAY_{name.upper()}": str(value) for name, value in ROOMY.items()}
