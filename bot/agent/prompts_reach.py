"""What the agent is told of the network that it has."""

from collections.abc import Sequence

from bot.ports.gateway import Passed


def passed(told: Sequence[Passed], count: int) -> str:
    """The note behind a tool's result: which hosts were reached; `count`: of all."""
    hosts = [
        f"{one.host} ({one.count}{', with ' + ', '.join(one.secrets) if one.secrets else ''})"
        for one in told
    ]
    more = [f"and {count - len(told)} more hosts"] if count > len(told) else []
    return f"[The network proxy passed requests to: {', '.join((*hosts, *more))}.]"


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
