"""
A model that answers one request at a time over the Messages API.

Rule 1: a request and a reply are the wire's own JSON. Nothing here rewrites content blocks: what
        came in is kept and sent back as it came (thinking, signatures, compaction, server tools).
Rule 2: an error is one of the classes below, by type and status, never by message text.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bot.goals.money import Price, Usage

Json = Mapping[str, Any]
Role = Literal["agent", "audit", "wrap_up", "compaction", "distil"]

NOT_SENT = "not sent"
"""What a cancelled call says that was still waiting to be sent."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call. `messages`, `system`, `tools`, `tool_choice` are Messages API JSON."""

    model: str
    max_tokens: int
    messages: tuple[Json, ...]
    system: tuple[Json, ...] = ()
    tools: tuple[Json, ...] = ()
    tool_choice: Json | None = None
    timeout_s: float = 600.0
    goal: str = ""
    """An opaque id of the goal, sent as `metadata.user_id`."""
    compact_at: int | None = None
    """Input tokens at which the endpoint compacts by itself, where the model has it."""
    container: str | None = None
    """The container of an earlier reply of the same conversation, to go on in it."""
    is_cached: bool = True
    """False for a prompt that is sent once, whose cache would be written and never read."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back: `content` is the raw JSON of the blocks, in order."""

    content: tuple[Json, ...]
    stop_reason: str
    usage: Usage
    model: str
    request_id: str | None = None
    container: str | None = None
    stop_details: Json | None = None
    """What the endpoint says about a refusal, if anything."""
    service_tier: str | None = None
    speed: str | None = None
    searches: int = 0
    """Searches of the web that the endpoint made, each with a price of its own."""
    parts: tuple[tuple[str, Usage], ...] = ()
    """`usage` by sampling iteration, each with the model that did it and so with its own price."""


class Model(Protocol):
    """One endpoint with one key, and its limiter.

    While the endpoint is overloaded or refuses the key, `call` waits; one waiting call probes.
    """

    async def call(
        self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None
    ) -> ModelReply:
        """Send and stream one request to its end.

        `on_text` is given each piece of visible text as it arrives.

        Raises:
            ModelBusy: no success on the endpoint for 24 h, or the reply was lost in flight
                (`maybe_served`), in which case the caller books the reservation and calls again.
            BadRequest: this request is invalid or was refused.
            ModelRefusesUs: only from `check`; `call` waits for the operator instead.
            CancelledError: with `NOT_SENT` as its argument where the endpoint owes nothing: the
                call was waiting to be sent.
        """

    def withdraw(self, goal: str) -> None:
        """End the calls of this goal that wait to be sent, as if cancelled; sent ones go on."""

    async def check(self) -> None:
        """One call of one token, past the limiter: is endpoint, key and model good?

        Raises:
            ModelBusy, BadRequest, ModelRefusesUs: as found.
        """

    def price(self, model: str, *, prompt_tokens: int = 0) -> Price | None:
        """What a token of each class costs, or None when it is not known.

        `prompt_tokens` are all the input tokens of the call: some models cost more above a size.
        """

    def has_compaction(self, model: str) -> bool:
        """True where the endpoint compacts a long conversation by itself."""
