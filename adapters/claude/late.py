"""
The SDK's client, loaded when the first call needs it.

Loading the SDK takes a second of CPU, and a process that starts has goals to take up meanwhile.
"""

import asyncio
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from adapters.claude.clients import Endpoint, build_client, check_endpoint


@dataclass(frozen=True, slots=True)
class Loaded:
    """The client, and the two ways in."""

    client: Any
    plain: Any
    beta: Any


class LateClient:
    """Builds the client once, on demand."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Look the endpoint over. Raises BadSettings: it cannot be used as it is written."""
        check_endpoint(endpoint)
        self._endpoint = endpoint
        self._loaded: Loaded | None = None
        self._loading: asyncio.Future[None] | None = None
        self._door = asyncio.Lock()
        if endpoint.provider != "anthropic":
            # The SDK itself says what is missing in a cloud's settings, and that must be said now.
            self._loaded = self._built()

    async def get(self) -> Loaded:
        """The client; the first time, once the SDK is loaded."""
        if self._loaded is not None:
            return self._loaded
        async with self._door:
            # Who waited goes on one each pass of the loop: in step, all would be the last.
            await asyncio.sleep(0)
            if self._loading is None:
                self._loading = asyncio.ensure_future(asyncio.to_thread(_load))
            await asyncio.shield(self._loading)
            if self._loaded is None:
                self._loaded = self._built()
            return self._loaded

    async def close(self) -> None:
        """Close all connections."""
        if self._loading is not None:
            await self._loading
        if self._loaded is not None:
            await self._loaded.client.close()

    def _built(self) -> Loaded:
        client = build_client(self._endpoint)
        return Loaded(
            client,
            client.messages.with_streaming_response,
            client.beta.messages.with_streaming_response,
        )


def _load() -> None:
    for module in ("adapters.claude.classify", "anthropic"):
        import_module(module)
