"""What the agent is told of the network that it has."""

from collections.abc import Sequence


def refused(told: Sequence[tuple[str, str]], count: int) -> str:
    """The note behind a tool's result: which hosts were refused, and why; `count`: of all."""
    lines = [f"- {host}: {why}" for host, why in told]
    if count > len(lines):
        lines.insert(0, f"- ({count - len(lines)} earlier ones are left out)")
    head = "[The network proxy refused, while this ran:"
    tail = "If the work needs such a host, ask for it with the tool `reach`; do not look for a way around.]"
    return "\n".join((head, *lines, tail))


NO_LINE = "It was allowed, but there is no network in this turn. Go on without it."


def reached(host: str) -> str:
    """What is told of a host that was allowed."""
    return f"{host} can be reached from now on, through the proxy that the environment names."
