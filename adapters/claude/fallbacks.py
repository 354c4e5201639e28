"""
Which model is asked: the one wanted, or one of the fall-backs in the settings.

Rule 1: a fall-back is asked only when the endpoint has been overloaded for two minutes (the probes
        then take turns through the list), or when the model wanted is not found.
Rule 2: a fall-back that answered is kept for ten minutes; then the model wanted is tried again.
Rule 3: with nothing left in the list, the model wanted is asked.
"""

from adapters.claude.clients import Endpoint
from adapters.claude.endpoint_state import EndpointState


class Fallbacks:
    """What is remembered about the models of one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._models = endpoint.fallback_models
        self._after_s = endpoint.fallback_after_s
        self._for_s = endpoint.fallback_for_s
        self._kept: dict[str, tuple[str, float]] = {}
        self._missing: dict[str, float] = {}

    def pick(self, wanted: str, state: EndpointState, *, now: float) -> str:
        """The model to ask in place of `wanted`, which may be `wanted` itself."""
        if not self._models:
            return wanted
        chain = [model for model in self._chain(wanted) if self._missing.get(model, 0.0) <= now]
        if not chain:
            return wanted
        is_long = state.since is not None and now - state.since >= self._after_s
        if state.kind == "overload" and is_long:
            return chain[state.attempts % len(chain)]
        kept, until = self._kept.get(wanted, (wanted, 0.0))
        return kept if now < until and kept in chain else chain[0]

    def served(self, wanted: str, by: str, *, now: float) -> None:
        """Note that `by` answered for `wanted`."""
        if wanted == by:
            self._kept.pop(wanted, None)
        elif now >= self._kept.get(wanted, ("", 0.0))[1]:
            self._kept[wanted] = (by, now + self._for_s)

    def missed(self, wanted: str, model: str, *, now: float) -> bool:
        """Note that `model` is not found; true when another can be asked for `wanted`."""
        self._missing[model] = now + self._for_s
        left = [other for other in self._chain(wanted) if self._missing.get(other, 0.0) <= now]
        if not left:
            self._missing.clear()
        return bool(left)

    def _chain(self, wanted: str) -> list[str]:
        return [wanted, *(model for model in self._models if model != wanted)]
