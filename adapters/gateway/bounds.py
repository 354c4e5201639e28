"""What one goal's line may use. Seconds, bytes, counts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """The defaults fit installing packages and cloning repositories."""

    connections: int = 64
    """At once of one goal; a further one is told to come again."""
    head: int = 64 * 1024
    """Of a request line or a status line with its headers."""
    body: int = 4 * 1024**3
    """Of a request or a response, or each way of a tunnel."""
    resolve_s: float = 10.0
    connect_s: float = 15.0
    hello_s: float = 15.0
    """From a tunnel's beginning to the client's first whole words."""
    idle_s: float = 120.0
    """Without a byte, either way."""
    whole_s: float = 3_600.0
    """Of one connection of a client."""
