"""
The SDK's client for one endpoint, by provider, and what the endpoint can do.

Rule 1: the SDK never retries (`max_retries=0`): the limiter does, for all goals together.
Rule 2: what only one provider needs is imported when that provider is chosen, and the SDK itself
        when a client is built.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit

from bot.errors import BadSettings
from bot.goals.money import Price

Provider = Literal["anthropic", "bedrock", "vertex"]

COMPACTION_MODELS: Final = (
    "claude-mythos-preview",
    "claude-opus-4-6",
    "claude-opus-4-7",
    "claude-sonnet-4-6",
)
"""Models documented to compact by themselves
(https://platform.claude.com/docs/en/build-with-claude/compaction). Of others the endpoint is asked
(`ClaudeModel.check`): a wrong yes is an invalid request, a wrong no only our own compaction."""

_KEYLESS: Final = "unset"
"""Keeps the SDK from looking for a key by itself; each call sends the key it is given."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint, as the settings name it."""

    name: str = "anthropic"
    provider: Provider = "anthropic"
    base_url: str | None = None
    region: str | None = None
    project: str | None = None
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 120.0
    """The longest silence within a stream; the API sends a ping more often."""
    max_in_flight: int = 100
    fallback_models: tuple[str, ...] = ()
    """Tried in order while the endpoint has been overloaded for `fallback_after_s`, or when the
    model asked for is not found."""
    fallback_after_s: float = 120.0
    fallback_for_s: float = 600.0
    """How long a fall-back that answered is kept before the model asked for is tried again."""
    compaction_models: tuple[str, ...] | None = None
    """Instead of what is documented and what the endpoint says."""
    prices: Mapping[str, Price] = field(default_factory=dict)


def check_endpoint(endpoint: Endpoint) -> None:
    """Look at what can be seen without the SDK.

    Raises:
        BadSettings: the provider is unknown, or the address is none.
    """
    if endpoint.provider not in get_args(Provider):
        known = ", ".join(get_args(Provider))
        raise BadSettings(f"No provider is called {endpoint.provider!r}. Set one of: {known}.")
    _check_url(endpoint.base_url)


def build_client(endpoint: Endpoint) -> Any:
    """The SDK's asynchronous client. It holds no key yet, and opens no connection.

    Raises:
        BadSettings: the provider is unknown, its packages are missing, or its settings are wrong.
    """
    import anthropic

    check_endpoint(endpoint)
    common: dict[str, Any] = {
        "base_url": endpoint.base_url,
        "max_retries": 0,
        "open_telemetry": False,
        "timeout": timeout_of(endpoint, 600.0),
        "http_client": anthropic.DefaultAioHttpClient(
            limits=_limits(endpoint),
            timeout=timeout_of(endpoint, 600.0),
            # A proxy that the environment names does not lead to this machine.
            trust_env=not is_here(endpoint.base_url),
        ),
    }
    try:
        return _of_provider(endpoint, common)
    except (ValueError, anthropic.AnthropicError) as error:
        raise BadSettings(
            f"The {endpoint.provider} client cannot be set up: {error} Mend the endpoint's settings."
        ) from error


def timeout_of(endpoint: Endpoint, timeout_s: float) -> Any:
    """The transport's time limits for a call that may take `timeout_s` in all."""
    import httpx2

    return httpx2.Timeout(
        None,
        connect=min(endpoint.connect_timeout_s, timeout_s),
        read=min(endpoint.idle_timeout_s, timeout_s),
        write=min(endpoint.idle_timeout_s, timeout_s),
    )


def is_here(base_url: str | None) -> bool:
    """Whether an address is this machine's own."""
    host = urlsplit(base_url or "").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _of_provider(endpoint: Endpoint, common: dict[str, Any]) -> Any:
    import anthropic

    if endpoint.provider == "anthropic":
        return anthropic.AsyncAnthropic(api_key=_KEYLESS, **common)
    if endpoint.provider == "vertex":
        _need("google.auth", "vertex")
        if endpoint.region is not None:
            common["region"] = endpoint.region
        if endpoint.project is not None:
            common["project_id"] = endpoint.project
        return anthropic.AsyncAnthropicVertex(**common)
    _need("boto3", "bedrock")
    common["aws_region"] = endpoint.region
    return anthropic.AsyncAnthropicBedrock(**common)


def _need(module: str, extra: str) -> None:
    try:
        found = find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise BadSettings(
            f"The provider {extra} needs packages that are not installed. Install headway[{extra}]."
        )


def _check_url(base_url: str | None) -> None:
    if base_url is None:
        return
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadSettings(
            f"base_url {base_url!r} is no address. Give one like https://api.anthropic.com."
        )


def _limits(endpoint: Endpoint) -> Any:
    import httpx2

    most = endpoint.max_in_flight
    return httpx2.Limits(max_connections=most, max_keepalive_connections=most)
