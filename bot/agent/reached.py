"""What a turn was allowed to reach until it ends, read off its own record. Pure."""

from collections.abc import Mapping

from bot.agent.pieces import Replied
from bot.agent.request import Parsed, blocks_of, uses_of
from bot.agent.strand import Strand
from bot.errors import BadInput
from bot.tools import reach


def reached_once(strand: Strand, contents: Mapping[str, str], parsed: Parsed) -> tuple[str, ...]:
    """The hosts of the turn's calls of `reach` that somebody said yes to, and that have succeeded."""
    replies = (one for one in strand.pieces if isinstance(one, Replied))
    return tuple(
        host
        for reply in replies
        if reply.seq > strand.turn_seq and _reaches(reply)
        for use in uses_of(blocks_of(reply, contents, parsed))
        if use["id"] in _reaches(reply)
        for host in _host_of(use.get("input"))
    )


def _reaches(reply: Replied) -> frozenset[str]:
    """The ids of its calls that were allowed once, and done."""
    return frozenset(
        id
        for id, started in reply.started.items()
        if started.name == reach.TOOL.name
        and started.allowed.startswith("once:")
        and id in reply.ended
        and reply.ended[id].outcome == "ok"
    )


def _host_of(arguments: object) -> tuple[str, ...]:
    try:
        return (str(reach.TOOL.check(arguments)["host"]),)
    except BadInput:
        return ()
