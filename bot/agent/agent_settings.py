"""What the operator sets of the agent."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Of every goal's agent. Seconds, tokens, counts."""

    model: str
    fallback_models: tuple[str, ...] = ()
    """Asked by the endpoint in place of `model`; a reservation covers the dearest of them."""
    max_tokens: int = 8_192
    """Output of one call."""
    call_timeout_s: float = 600.0
    tool_timeout_s: float = 120.0
    compact_at: int = 150_000
    """Tokens of a conversation at which it is compacted."""
    summary_tokens: int = 4_096
    distil_model: str = ""
    """Distils a brief's criteria; the agent's own model where empty."""
    losses_in_a_row: int = 3
    """Replies lost in flight, one after the other, that fail a turn."""
    cuts_in_a_row: int = 3
    pauses_in_a_row: int = 10
    persons_fresh_s: float = 30.0
    """How old people's texts in memory may be: what they erase must be gone within a minute."""
    remembered_chars: int = 64_000_000
    """Of all conversations kept in memory between turns."""
