"""
Checkpoints and artifacts, as rows.

Rule 1: a unit that makes a checkpoint brings the tree that it took; where nobody took one (a person's
        answer makes it, say) the one before of the same workspace still stands.
Rule 2: a rewind names a checkpoint that is there with its tree, or it is refused.
Rule 3: a goal that is put back has the list of tasks that it had there.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from sqlalchemy import bindparam, func, select, text, update

from adapters.store import codec, queries
from adapters.store.moves import Move, write_content
from adapters.store.posts import NO_POINT, Point
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Row, Writes
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.errors import Refused
from bot.goals import instructions
from bot.goals.events import Event, GoalOpened, Rewound
from bot.goals.goal import Goal
from bot.ports.artifacts import Artifact
from bot.ports.checkpoints import Checkpoint
from bot.ports.journal import Content, Task, Unit
from bot.ports.snapshots import EMPTY

_K, _G, _E, _O, _T = (
    queries.CHECKPOINT, queries.GOAL, queries.EVENT, queries.OUTBOX, queries.TASK,
)  # fmt: skip
_A: Final = METADATA.tables["artifact"]
_C: Final = queries.CONTENT
ANSWERS: Final = ("DecisionAnswered", "Resumed")
"""Events of people that make a checkpoint: a plan that was approved, at once or while paused."""
SILENT: Final = "('status', 'card', 'removal', 'root')"

_OF_GOAL: Final = (
    select(_K.c.seq, _K.c.turn, _K.c.at, _K.c.tree, _K.c.data, _E.c.kind)
    .join(_E, (_E.c.goal == _K.c.goal) & (_E.c.seq == _K.c.seq))
    .where(_K.c.goal == bindparam("of_goal"))
    .order_by(_K.c.seq)
)
_LATEST: Final = (
    select(_K.c.tree)
    .join(_G, _G.c.id == _K.c.goal)
    .where(_G.c.session == bindparam("of_session"))
    .order_by(_K.c.at.desc(), _K.c.goal.desc(), _K.c.seq.desc())
    .limit(1)
)
_AT: Final = select(_K.c.tree, _K.c.data, _K.c.tasks).where(
    _K.c.goal == bindparam("of_goal"), _K.c.seq == bindparam("of_seq")
)
_TASKS: Final = (
    select(_T.c.title, _T.c.state, _T.c.evidence)
    .where(_T.c.goal == bindparam("of_goal"))
    .order_by(_T.c.position)
)
_TEXTS: Final = (
    select(_C.c.hash, _C.c.text)
    .join(_G, _G.c.session == _C.c.session)
    .where(
        _G.c.id == bindparam("of_goal"),
        _C.c.hash.in_((bindparam("of_one"), bindparam("of_other"))),
    )
)
_POSTED: Final = select(func.count()).where(
    _O.c.goal == bindparam("of_goal"),
    _O.c.created_at > bindparam("of_at"),
    text(f"outbox.state IN ('sent', 'claimed', 'unknown') AND outbox.kind NOT IN {SILENT}"),
)
_ADD: Final = queries.into(_A).on_conflict_do_nothing()
_ARTIFACTS: Final = (
    select(_C.c.text, _A.c.hash, _A.c.size, _A.c.kind, _A.c.origin, _A.c.turn, _A.c.at)
    .join(_G, _G.c.id == _A.c.goal)
    .join(_C, (_C.c.session == _G.c.session) & (_C.c.hash == _A.c.name))
    .where(_A.c.goal == bindparam("of_goal"), _C.c.text.is_not(None))
    .order_by(_A.c.at, _A.c.turn, _A.c.id)
)
_above: Final = queries.SESSION.alias("above")
_SAME_HOME: Final = (
    update(queries.SESSION)
    .values(
        home=select(_above.c.home)
        .join(_G, _G.c.session == _above.c.id)
        .where(_G.c.id == bindparam("of_goal"))
        .scalar_subquery()
    )
    .where(queries.SESSION.c.id == bindparam("of_session"), queries.SESSION.c.home == "")
)
_NAMED: Final = select(_K.c.tree).where(_K.c.tree != "").distinct()
_TO_RESTORE: Final = select(_G.c.data).where(
    text("goal.state NOT IN ('complete', 'cancelled')"),
    _G.c.data.like('%"restore":"%'),
    _G.c.data.not_like('%"restore":""%'),
)
_TREES: Final = (
    select(_G.c.session, _K.c.goal, _K.c.seq, _K.c.tree, _E.c.kind)
    .join(_G, _G.c.id == _K.c.goal)
    .join(_E, (_E.c.goal == _K.c.goal) & (_E.c.seq == _K.c.seq))
    .where(_K.c.tree != "")
    .order_by(_K.c.goal, _K.c.seq)
)
_SET_TREE: Final = queries.set_in(_K, "tree").where(
    _K.c.goal == bindparam("of_goal"),
    _K.c.seq == bindparam("of_seq"),
    _K.c.tree == bindparam("of_tree"),
)
_SET_TREES: Final = queries.set_in(_K, "tree").where(_K.c.tree == bindparam("of_tree"))
_LET_GO: Final = queries.set_in(_K, "tree").where(
    _K.c.goal.in_(select(_G.c.id).where(_G.c.session == bindparam("of_session"))),
    _K.c.tree != "",
)


class StoreCheckpoints:
    """Port Checkpoints."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer, self._readers = writer, readers

    async def of_goal(self, goal: str) -> tuple[Checkpoint, ...]:
        """All of a goal's, oldest first."""
        rows = await self._readers.do(lambda reader: reader.all(_OF_GOAL, of_goal=goal))
        return tuple(
            Checkpoint(number, goal, seq, turn, at, tree, codec.load_goal(data), kind in ANSWERS)
            for number, (seq, turn, at, tree, data, kind) in enumerate(rows, 1)
        )

    async def tasks(self, goal: str, seq: int) -> tuple[Task, ...]:
        """The list of tasks that there was at that checkpoint."""

        def query(reader: Reader) -> tuple[Task, ...]:
            row = reader.one(_AT, of_goal=goal, of_seq=seq)
            kept = json.loads(row[2]) if row is not None else []
            texts = {
                hash: text
                for title, _, evidence in kept
                for hash, text in reader.all(_TEXTS, of_goal=goal, of_one=title, of_other=evidence)
            }
            return tuple(
                Task(texts.get(title) or "", state, texts.get(evidence) or "")
                for title, state, evidence in kept
            )

        return await self._readers.do(query)

    async def latest(self, session: str) -> str | None:
        """The tree of the workspace's last checkpoint."""
        return await self._readers.glance(lambda reader: _latest(reader, session))

    async def posted_since(self, goal: str, at: float) -> int:
        """How many posts of the goal came to be in its thread since then."""
        row = await self._readers.do(lambda reader: reader.one(_POSTED, of_goal=goal, of_at=at))
        return int(row[0]) if row else 0

    async def artifacts(self, goal: str) -> tuple[Artifact, ...]:
        """The newest version of each file that the goal made, by path."""
        rows = await self._readers.do(lambda reader: reader.all(_ARTIFACTS, of_goal=goal))
        newest = {row[0]: Artifact(*row) for row in rows}
        return tuple(newest[path] for path in sorted(newest))

    async def named(self) -> frozenset[str]:
        """Every tree that is wanted still."""

        def query(reader: Reader) -> frozenset[str]:
            waiting = (codec.load_goal(row[0]).restore for row in reader.all(_TO_RESTORE))
            return frozenset([row[0] for row in reader.all(_NAMED)]) | frozenset(waiting)

        return await self._readers.do(query)

    async def thin(self, keep: int) -> int:
        """Let go of the trees of each goal but its last `keep` and those of approved plans."""
        rows = await self._readers.do(lambda reader: reader.all(_TREES))
        of: dict[str, list[Row]] = {}
        for row in rows:
            if row[4] not in ANSWERS:
                of.setdefault(row[1], []).append(row)
        old = [row for each in of.values() for row in each[:-keep]]

        def job(tx: Transaction) -> int:
            return sum(
                tx.run(_SET_TREE, of_goal=goal, of_seq=seq, of_tree=tree, tree="")
                for _, goal, seq, tree, _ in old
            )

        return await self._writer.do(job) if old else 0

    async def let_go(self, sessions: Sequence[str]) -> int:
        """Let go of all trees of these sessions' goals."""

        def job(tx: Transaction) -> int:
            return sum(tx.run(_LET_GO, of_session=session, tree="") for session in sessions)

        return await self._writer.do(job) if sessions else 0

    async def trees(self) -> Mapping[str, tuple[str, ...]]:
        """The trees that checkpoints name, by session."""
        found: dict[str, dict[str, None]] = {}
        for session, _, _, tree, _ in await self._readers.do(lambda reader: reader.all(_TREES)):
            found.setdefault(session, {})[tree] = None
        return {session: tuple(trees) for session, trees in found.items()}

    async def replace(self, trees: Mapping[str, str]) -> int:
        """Name other trees where these are named."""

        def job(tx: Transaction) -> int:
            return sum(tx.run(_SET_TREES, of_tree=old, tree=new) for old, new in trees.items())

        return await self._writer.do(job) if trees else 0


def point_of(tx: Transaction, moves: Sequence[Move], unit: Unit) -> Point:
    """What the checkpoint of a unit holds; where it makes none, nothing is looked up."""
    asked = (one for move in moves for one in move.instructions)
    if not any(isinstance(one, instructions.Checkpoint) for one in asked):
        return NO_POINT
    after = moves[-1].after
    tree = unit.tree if unit.tree is not None else _latest(tx, after.session)
    if unit.tasks is not None:
        rows = [
            (Content(one.title).hash if one.title else "", one.state,
             Content(one.evidence).hash if one.evidence else "")
            for one in unit.tasks
        ]  # fmt: skip
    else:
        rows = [tuple(row) for row in tx.all(_TASKS, of_goal=after.id)]
    return Point(EMPTY if tree is None else tree, json.dumps(rows))


def write_rewound(tx: Transaction, writes: Writes, goal: Goal, events: Iterable[Event]) -> None:
    """Where the goal is put back, its tasks are what they were there.

    Raises:
        Refused: code `no_checkpoint`: there is none at that entry, or its files are not kept.
    """
    for event in events:
        if not isinstance(event, Rewound):
            continue
        row = tx.one(_AT, of_goal=goal.id, of_seq=event.to_seq)
        if row is None or row[0] != event.tree or codec.load_goal(row[1]) != event.point:
            raise Refused("There is no such checkpoint any more.", code="no_checkpoint")
        write_tasks_again(writes, goal.id, row[2])


def write_tasks_again(writes: Writes, goal: str, kept: str) -> None:
    """The list of tasks that a checkpoint kept; its texts are content of the goal's session."""
    writes.add(queries.DELETE_TASKS, of_goal=goal)
    for position, (title, state, evidence) in enumerate(json.loads(kept)):
        writes.add(
            queries.INSERT_TASK, goal=goal, position=position, title=title, state=state,
            evidence=evidence,
        )  # fmt: skip


def write_copy(writes: Writes, event: GoalOpened) -> None:
    """A copy lives where its files are: on the machine of the goal that it is made of."""
    if event.forks:
        writes.add(_SAME_HOME, of_session=event.session, of_goal=event.forks)


def write_artifacts(writes: Writes, goal: Goal, artifacts: Iterable[Artifact], at: float) -> None:
    """The versions of files that are new; each is a row once."""
    for one in artifacts:
        name = Content(one.path, "agent")
        write_content(writes, goal.session, name, name.hash, at)
        id = sha256(f"{goal.id}\0{name.hash}\0{one.hash}\0{one.origin}".encode()).hexdigest()[:32]
        writes.add(
            _ADD, id=id, goal=goal.id, turn=goal.turn, name=name.hash, hash=one.hash, size=one.size,
            kind=one.kind, origin=one.origin, at=at,
        )  # fmt: skip


def _latest(reader: Reader, session: str) -> str | None:
    row = reader.one(_LATEST, of_session=session)
    return None if row is None else str(row[0])
