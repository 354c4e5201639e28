"""
What a goal's moves do to standing permissions: one is given with an answer, and each use is counted.

A permission is a row of `grant` of kind `permission`, under the id of the decision that gave it. Its rule is
JSON: `kind`, and `what`: the words of a command as a list, a host's name, or a tool's.
"""

from typing import Any, Final

from sqlalchemy import Float, String, bindparam, select, text, update
from sqlalchemy.dialects.postgresql import insert

from adapters.store import queries
from adapters.store.statements import Writes
from adapters.store.tables import METADATA
from bot.goals.events import ToolStarted
from bot.goals.goal import Goal
from bot.goals.instructions import Allow

KIND: Final = "permission"
GRANT: Final = METADATA.tables["grant"]
_ALWAYS: Final = "always:"
_S, _C = queries.SESSION, queries.CONTENT


def _text(name: str) -> Any:
    return bindparam(name, type_=String())


def _at(name: str) -> Any:
    return bindparam(name, type_=Float())


_GIVE: Final = (
    insert(GRANT)
    .from_select(
        ["id", "room", "subject", "kind", "role", "rule", "given_by", "given_at", "expires_at", "uses"],
        select(
            _text("id"), _S.c.room, _text("id"), text(f"'{KIND}'"), text("''"),
            _text("head") + _C.c.text + _text("tail"), _text("by"), _at("at"), _at("until"), text("0"),
        )
        .join(_C, _C.c.session == _S.c.id)
        .where(_S.c.id == _text("of_session"), _C.c.hash == _text("of_what"), _C.c.text.is_not(None)),
    )
    .on_conflict_do_nothing()
)  # fmt: skip
"""Nothing, where what was allowed has been erased."""
_USED: Final = (
    update(GRANT)
    .values(uses=GRANT.c.uses + 1)
    .where(GRANT.c.id == bindparam("of_id"), text(f"\"grant\".kind = '{KIND}'"))
)


def give(writes: Writes, goal: Goal, allow: Allow, at: float) -> None:
    """The row of what somebody allowed the goal's room."""
    # The words of a command are JSON as they are; names need no more than quotes.
    quote = "" if allow.grant.kind == "command" else '"'
    writes.add(
        _GIVE, id=allow.decision, head=f'{{"kind": "{allow.grant.kind}", "what": {quote}',
        tail=f"{quote}}}", by=allow.by, at=at, until=allow.until, of_session=goal.session,
        of_what=allow.grant.what,
    )  # fmt: skip


def count_uses(writes: Writes, started: ToolStarted) -> None:
    """One more call that runs because of each permission that it names."""
    for why in started.allowed.split(","):
        if why.startswith(_ALWAYS):
            writes.add(_USED, of_id=why.removeprefix(_ALWAYS))
