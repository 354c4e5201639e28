"""
A goal's journal as its running turn holds it: staged, committed, and kept equal to the store.

Rule 1: `stage` says what has happened or is about to; `commit` makes it so. Nothing is sent or
        started before the commit that records it has returned.
Rule 2: what a staged event does is foretold by the machine's own rules. Where the store's outcome
        differs (a person came in between), the transcript is read anew.
Rule 3: where the goal has moved on and does not take a unit, what did happen is still written:
        replies that are owed for, and results of tools that ran.
Rule 4: a commit under way is never abandoned: a cancelled caller hears of it after its outcome.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bot.agent.inheritance import NOTHING, inherited
from bot.agent.request import Parsed, messages
from bot.agent.transcript import Transcript
from bot.errors import IllegalMove, Refused, StoreBusy
from bot.goals import machine
from bot.goals.events import (
    BOOKINGS,
    Audited,
    AuditFailed,
    CallStarted,
    Event,
    GatesRan,
    Rewound,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from bot.goals.goal import Goal, State
from bot.goals.limits import Limits
from bot.goals.money import Reservation, covers
from bot.ports.artifacts import Artifact
from bot.ports.chat import Attachment
from bot.ports.clock import Clock
from bot.ports.journal import Applied, Content, Journal, Lease, Line, Task, Unit
from bot.ports.model import Json

FRESH_S: Final = 0.02
"""So soon after a commit the journal is not asked whether others wrote."""
AUDITS: Final = (CallStarted, *BOOKINGS, GatesRan, Audited, AuditFailed)
"""What an audit writes."""
BUSY_PAUSES_S: Final = (0.1, 0.5, 2.0)


class Record:
    """One goal's journal in memory. Kept between turns; `attach` makes it current."""

    def __init__(self, goal: Goal, journal: Journal, clock: Clock, limits: Limits) -> None:
        self.goal = goal
        self.is_fenced = False
        self.was_read_anew = False
        """The last commit was not what was foretold: requests must be built again."""
        self._inherited = NOTHING
        self._has_inherited = not goal.forks
        self.transcript = Transcript(goal.id, keeps=False)
        self.parsed = Parsed()
        self.asides: dict[int, str] = {}
        self._journal, self._clock, self._limits = journal, clock, limits
        self._epoch = 0
        self._heard_at = -math.inf
        """When a commit last told how the row stands."""
        self._contents: dict[str, str] = {}
        self._persons_at = -math.inf
        self._erased: set[str] = set()
        self._position = 0
        self._seqs: dict[str, int] = {}
        self._is_sure = True
        """Nothing but the goal itself has spoken in the session since it was read."""
        self._before = goal
        self._staged: list[Event] = []
        self._staged_contents: list[Content] = []
        self._staged_tasks: tuple[Task, ...] | None = None
        self._staged_files: tuple[Attachment, ...] = ()
        self._staged_tree: str | None = None
        self._staged_artifacts: tuple[Artifact, ...] = ()
        self._foretold: list[str] | None = []

    @property
    def is_over(self) -> bool:
        """The goal is no longer this turn's to work at."""
        return self.is_fenced or self.goal.state is not State.WORKING

    @property
    def chars(self) -> int:
        """How much text it holds."""
        return sum(map(len, self._contents.values()))

    @property
    def contents(self) -> dict[str, str]:
        """The texts that are known, by hash."""
        return self._contents

    def affords(self, call: Reservation) -> bool:
        """Whether what is left of the goal's budget covers a call of its turn."""
        held_back = self._limits.audit_held_back_tokens
        return covers(self.goal.budget, self.goal.ledger, call, held_back=held_back)

    async def attach(self, lease: Lease) -> None:
        """Go on under a lease, with the journal as it is now. Raises as the journal does."""
        self._epoch, self.is_fenced = lease.epoch, False
        self._forget_staged()
        if not self._has_inherited:
            self._inherited = await inherited(lease.goal, self._journal)
            self._has_inherited = True
            self._forget_lines()
        if self._seqs.get(lease.goal.id) != lease.goal.seq or not self._is_sure:
            self._is_sure = True
            await self._read_on()
        else:
            self.goal = lease.goal

    def hear(self, applied: Applied) -> None:
        """Take what this process's audit wrote since the turn ended, which need not be read then."""
        known = self._seqs.get(self.goal.id, 0)
        entries = applied.entries
        if not entries or not all(isinstance(entry.event, AUDITS) for entry in entries):
            return
        if [entry.seq for entry in entries] != list(range(known + 1, known + 1 + len(entries))):
            return
        for entry in entries:
            self.transcript.feed(Line(self.goal.id, 0, entry))
        self._seqs[self.goal.id] = applied.goal.seq
        self.goal = applied.goal

    def doubt(self) -> None:
        """Something else was said in the session: read it before the next turn."""
        self._is_sure = False

    async def catch_up(self) -> None:
        """Take what others wrote since; what is staged stands after it. Raises as the journal.

        Right after a commit the row is known; what came since then comes with the next one.
        """
        if self._clock.now() - self._heard_at < FRESH_S:
            return
        known = self._before if self._staged else self.goal
        if (await self._journal.goal(self.goal.id)).seq != known.seq:
            await self._restage()

    async def fetch(self, fresh_s: float) -> None:
        """Get the texts that are missing, and people's own anew when they are old.

        Args:
            fresh_s: how old people's texts may be.
        """
        now = self._clock.now()
        persons: set[str] = set()
        if now - self._persons_at >= fresh_s:
            staged = {content.hash for content in self._staged_contents}
            persons = set(self.transcript.persons()) - staged
            self._persons_at = now
        wanted = self.transcript.wanted()
        missing = {hash for hash in wanted if hash not in self._contents} - self._erased
        if not missing and not persons:
            return
        hashes = missing | persons
        found = dict(await self._journal.contents(self.goal.session, sorted(hashes)))
        for session in self._inherited.sessions:
            if left := hashes - set(found):
                found.update(await self._journal.contents(session, sorted(left)))
        for hash in hashes:
            self._contents.pop(hash, None)
        self._contents.update(found)
        self._erased |= hashes - set(found)

    def stage(
        self,
        *events: Event,
        contents: Sequence[Content] = (),
        tasks: tuple[Task, ...] | None = None,
        files: tuple[Attachment, ...] = (),
        tree: str | None = None,
        artifacts: tuple[Artifact, ...] = (),
    ) -> None:
        """Add to the unit in the making."""
        if not self._staged:
            self._before = self.goal
        self._staged += events
        self._staged_contents += contents
        self._contents.update((content.hash, content.text) for content in contents)
        self._staged_files += files
        self._staged_artifacts += artifacts
        self._staged_tree = self._staged_tree if tree is None else tree
        if tasks is not None:
            self._staged_tasks = tasks
        for event in events:
            self._foretell(event)

    async def commit(self) -> tuple[str, ...]:
        """Write what is staged; returns the rule of each event that was written.

        Raises:
            StoreBusy, StoreUnusable: nothing is known to be written.
            CancelledError: after the outcome is known.
        """
        task = asyncio.ensure_future(self._settle())
        cancelled = None
        while not task.done():
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError as error:
                cancelled = error
        rules = task.result()
        if cancelled is not None:
            raise cancelled
        return rules

    def messages(self) -> tuple[Json, ...]:
        """The conversation as the next request tells it."""
        pieces = self.transcript.own.pieces
        return messages(pieces, self._contents, parsed=self.parsed, asides=self.asides)

    def _forget_staged(self) -> None:
        self._before = self.goal
        self._staged, self._staged_contents, self._staged_tasks = [], [], None
        self._staged_files, self._staged_tree, self._staged_artifacts = (), None, ()
        self._foretold = []

    def _foretell(self, event: Event) -> None:
        if self._foretold is None:
            return
        try:
            moved = machine.decide(self.goal, event, self._limits)
        except (IllegalMove, Refused):
            self._foretold = None
            return
        entry = machine.entry(self.goal, event, moved)
        self.transcript.feed(Line(self.goal.id, 0, entry))
        self.goal = moved.goal
        self._foretold.append(moved.rule)

    async def _settle(self) -> tuple[str, ...]:
        unit = Unit(
            self.goal.id,
            tuple(self._staged),
            tuple(self._staged_contents),
            self._epoch,
            self._staged_tasks,
            files=self._staged_files,
            tree=self._staged_tree,
            artifacts=self._staged_artifacts,
        )
        foretold, seq, before = self._foretold, self.goal.seq, self._before
        self._forget_staged()
        self._before = before
        self.was_read_anew = False
        if not unit.events:
            return ()
        try:
            applied = await self._write(unit)
        except (IllegalMove, Refused):
            return await self._settle_facts(unit)
        self.is_fenced, self._heard_at = applied.fenced, self._clock.now()
        if applied.goal.seq == seq and list(applied.rules) == foretold:
            self._adopt(applied)
        else:
            self.goal = applied.goal
            await self._read_anew()
        return applied.rules

    async def _write(self, unit: Unit) -> Applied:
        """Commit, again after a moment where the store is busy: a reply must not be lost for that."""
        for pause_s in BUSY_PAUSES_S:
            before = self._before.seq
            try:
                return await self._journal.commit(unit)
            except StoreBusy as busy:
                await self._clock.sleep(busy.retry_after_s or pause_s)
                if (await self._journal.goal(unit.goal)).seq != before:
                    # It may be there after all, or another writer was faster: begin from the rows.
                    raise
        return await self._journal.commit(unit)

    async def _settle_facts(self, unit: Unit) -> tuple[str, ...]:
        """Write what has happened, into a goal that has moved on."""
        asked = {e.tool_use for e in unit.events if isinstance(e, ToolStarted)}
        for kinds in ((*BOOKINGS, ToolEnded, TurnEnded), (*BOOKINGS, ToolEnded), BOOKINGS):
            facts = tuple(
                event
                for event in unit.events
                if isinstance(event, kinds)
                and not (isinstance(event, ToolEnded) and event.tool_use in asked)
            )
            if not facts:
                break
            try:
                applied = await self._write(replace(unit, events=facts, tasks=None))
            except (IllegalMove, Refused):
                continue
            self.is_fenced = applied.fenced
            break
        await self._read_anew()
        return ()

    def _adopt(self, applied: Applied) -> None:
        self.goal = applied.goal
        self._seqs[applied.goal.id] = applied.goal.seq
        for entry in applied.entries:
            self.transcript.own.row.update(entry.changes)

    async def _read_anew(self) -> None:
        """The transcript from the journal alone; texts in memory stay."""
        self.was_read_anew = True
        lines = await self._journal.history(self.goal.session)
        self._forget_lines(lines)
        self._take(lines)
        await self.fetch(0.0)

    async def _read_on(self) -> None:
        lines = await self._journal.history(self.goal.session, after=self._position)
        lacks = not self.transcript.keeps and _has_rewound(lines)
        if lacks or self._has_gap(lines):
            if self._position:
                lines = await self._journal.history(self.goal.session)
            self._forget_lines(lines)
        self._take(lines)

    async def _restage(self) -> None:
        """Read on, and put what is staged after it."""
        if not self._staged:
            await self._read_on()
            return
        # Nothing staged may be lost to a cancellation here, so what is awaited comes first.
        lines = await self._journal.history(self.goal.session)
        events, contents = tuple(self._staged), tuple(self._staged_contents)
        tasks, files = self._staged_tasks, self._staged_files
        tree, artifacts = self._staged_tree, self._staged_artifacts
        self._forget_lines(lines)
        self._take(lines)
        self._forget_staged()
        self.stage(
            *events, contents=contents, tasks=tasks, files=files, tree=tree, artifacts=artifacts
        )

    def _forget_lines(self, lines: Sequence[Line] = ()) -> None:
        """Begin anew, with all of these: only where one was put back are they needed again."""
        keeps = _has_rewound(lines)
        self.transcript = Transcript(self.goal.id, self._inherited.pieces, keeps=keeps)
        self._position, self._seqs = 0, {}

    def _take(self, lines: Sequence[Line]) -> None:
        for line in lines:
            self._position = max(self._position, line.position)
            if line.entry.seq > self._seqs.get(line.goal, 0):
                self._seqs[line.goal] = line.entry.seq
                self.transcript.feed(line)
                if isinstance(line.entry.event, Rewound):
                    self.asides.clear()
        self.goal = Goal(**self.transcript.own.row)

    def _has_gap(self, lines: Sequence[Line]) -> bool:
        known = dict(self._seqs)
        for line in lines:
            seq = line.entry.seq
            if seq > known.get(line.goal, 0) + 1:
                return True
            known[line.goal] = max(seq, known.get(line.goal, 0))
        return False


def _has_rewound(lines: Sequence[Line]) -> bool:
    return any(isinstance(line.entry.event, Rewound) for line in lines)
