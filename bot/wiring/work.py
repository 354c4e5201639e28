"""The parts that work at goals: intake, worker, turns, audits, delivery, and the desks they speak to."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from secrets import token_hex

from adapters.console.connection import ConsoleChat
from adapters.console.shelf import Shelf
from bot.agent.background import LOOK_S as LIVES_LOOK_S
from bot.agent.background import Background
from bot.agent.keeping import Kept
from bot.agent.probe import SandboxProbe
from bot.agent.reach_kit import ReachBox
from bot.agent.reviews import Reviewed, Reviews
from bot.chat.allow_list import AllowList
from bot.chat.delivery import Delivery
from bot.chat.departures import Departures
from bot.chat.intake import Intake
from bot.chat.screening import Screening
from bot.goals.goal import State
from bot.ports.chat import Chat
from bot.wiring.by_room import RoomAudits, RoomTurns, build_audits, build_turns
from bot.wiring.caps import keep_caps
from bot.wiring.control import Control, with_desks
from bot.wiring.discreet import discreet_answers
from bot.wiring.draining import Drain
from bot.wiring.files import keep_swept
from bot.wiring.forgetting import keep_forgetting
from bot.wiring.gates import build_gates
from bot.wiring.ground import Ground
from bot.wiring.holding import HoldDesk
from bot.wiring.homes import Homes, build_homes
from bot.wiring.keys import matrix_account
from bot.wiring.lines import build_forms, build_lines, serve_forms, written_down
from bot.wiring.networks import Connected, connect
from bot.wiring.people import (
    Entitled,
    build_desk,
    invite_admin,
    open_allow_list,
    report_idle,
    watch_owners,
)
from bot.wiring.people_desk import PeopleDesk
from bot.wiring.projects import build_projects
from bot.wiring.secrets import LOOK_S, SecretDesk, with_secrets
from bot.wiring.signs import Shown
from bot.wiring.slack_app import only_install
from bot.wiring.slack_desk import SlackDesk
from bot.wiring.snapshots import keep_snapshots, withdrawing
from bot.wiring.watch import Parts
from scheduler.control import Answer
from scheduler.parked import Parked
from scheduler.worker import Worker


@dataclass(frozen=True, slots=True)
class Work:
    """What works at goals, and who may speak to it."""

    console: ConsoleChat
    connected: Connected
    """The networks beside the console."""
    delivery: Delivery
    allow_list: AllowList
    departures: Departures
    turns: RoomTurns
    audits: RoomAudits
    worker: Worker
    intake: Intake
    screening: Screening
    drain: Drain
    shown: Shown
    homes: Homes | None


async def build_work(ground: Ground) -> Work:
    """Build it, and tie what has to hear of something to what tells it. Raises as the store."""
    settings, names, store, clock = ground.settings, ground.names, ground.store, ground.clock
    shelf = Shelf(ground.files, settings.state_dir / "console" / "files")
    console = ConsoleChat(settings.state_dir, clock, names.console, written_down(ground), shelf)
    connected = connect(ground)
    allow_list = await open_allow_list(settings, names, store, connected.members)
    ground.lent.is_chief = allow_list.is_chief_by_id
    for allowed in connected.allowed:
        allowed(allow_list)
    report_idle(allow_list.register, names.networks)
    await invite_admin(allow_list, store.doors, names.networks)
    delivery = _delivery(ground, (console, *connected.chats), allow_list)
    departures = watch_owners(allow_list, store, ground.manner, delivery.notify)
    projects = build_projects(ground)
    lines = build_lines(ground, allow_list)
    turns = build_turns(
        settings, clock, store, ground.model, ground.sandbox, allow_list, ground.files,
        toolboxes=(projects, ReachBox(lines), ground.mcp), lines=lines, kept=Kept(ground.snapshots, store.checkpoints),
    )  # fmt: skip
    begins = Reviewed(turns, Reviews(projects, store.journal, allow_list), store.journal)
    gates = build_gates(ground, allow_list, lines)
    audits = build_audits(settings, clock, store, ground.model, allow_list, gates)
    worker = _worker(ground, begins, turns, audits, departures)
    shown = Shown(connected.signs, lambda: worker.busy, store.journal, allow_list, clock)
    desk = build_desk(
        settings, clock, store, worker.wake, delivery.notify, ground.manner, allow_list,
        worker.recall, shown.acks.taken,
        withdrawing(settings, ground.snapshots, store.checkpoints), ground.mcp,
        # Of several machines one alone has a workspace's trees: what this one lacks tells nothing.
        None if names.is_shared else ground.snapshots,
    )  # fmt: skip
    intake = Intake(desk, allow_list.of, names.is_ours, ground.watches.operations)
    homes = build_homes(ground, desk, connected)
    serve_forms(ground, desk)
    screening = Screening(
        intake.receive, store.rooms, store.outbox, ground.redactor, ground.manner,
        build_forms(ground), allow_list.is_listed,
    )  # fmt: skip
    drain = Drain(worker, turns, delivery)
    work = Work(
        console,
        connected,
        delivery,
        allow_list,
        departures,
        turns,
        audits,
        worker,
        intake,
        screening,
        drain,
        shown,
        homes,
    )
    await _tie(ground, work)
    return work


def desks(ground: Ground, work: Work, control: Control) -> Answer:
    """What answers the control socket, from the first that knows the request to the last."""
    store, settings, notify = ground.store, ground.settings, work.delivery.notify
    holding = HoldDesk(store.holds, store.rooms, work.worker.recall, notify)
    only = partial(only_install, settings, store.installs)
    people = PeopleDesk(work.allow_list, store, ground.names, notify, only)
    purges = keep_forgetting(
        ground.alarms, settings, store, work.worker.wake, work.turns.forget_texts,
        work.allow_list.load, ground.confined, ground.snapshots,
    )  # fmt: skip
    sealed = SecretDesk(store.secrets, ground.redactor, matrix_account(settings))
    if ground.names.is_shared:
        ground.alarms.add("secrets", sealed.look, LOOK_S)
    app = work.connected.slack
    slack = SlackDesk(
        store.installs, work.screening.receive, ground.clock, ground.names.charge,
        app.sight if app else None,
    )  # fmt: skip
    spoken = with_desks((holding, work.drain, purges, people, slack), control)
    return discreet_answers(with_secrets(sealed, ground.redactor, spoken), ground.redactor)


async def _tie(ground: Ground, work: Work) -> None:
    """Tell whoever is built first of whoever is built later."""
    store, watches, notify = ground.store, ground.watches, work.delivery.notify
    operations = watches.operations
    ground.told.posted = notify
    if not ground.names.is_shared:
        ground.told.heard += [work.turns.heard, work.audits.heard]
    ground.told.heard.append(work.shown.heard)
    if work.homes is not None:
        ground.told.heard.append(work.homes.heard)
    work.delivery.approves = work.allow_list.approves_by_reaction
    work.delivery.concerned.admins = work.allow_list.admin_ids
    work.delivery.concerned.approvers = work.allow_list.approver_ids
    work.delivery.concerned.settings = work.allow_list.settings
    work.delivery.attachments = store.attachments
    copies = (work.console.shelf,) if work.console.shelf is not None else ()
    swept = (ground.files, *copies)
    keep_swept(ground.alarms, swept, store.attachments, ground.settings.clock_rate)
    keep_snapshots(ground.alarms, ground.settings, ground.snapshots, store)
    operations.posted = notify
    work.departures.wake, work.worker.troubled = work.worker.wake, watches.store.troubled
    await watches.begin(
        frozenset(row.name for row in await store.leases.endpoints()),
        has_sandbox=ground.confined is not None,
    )
    if ground.sandbox is not None:
        background = Background(ground.sandbox, store.journal, work.worker.wake)
        if not ground.names.is_shared:
            soon = ground.clock.now() + 2 * ground.settings.limits.probe_most_s
            await background.begin(await store.records.wait_due(soon))
        ground.alarms.add("background", background.look, LIVES_LOOK_S)
    keep_caps(ground.alarms, store, work.worker, work.delivery, operations, ground.manner)
    ground.watch.parts = Parts(store, ground.claude, ground.confined, work.worker, ground.alarms)


def _delivery(ground: Ground, chats: Sequence[Chat], allow_list: AllowList) -> Delivery:
    store, manner = ground.store, ground.manner
    return Delivery(
        store.outbox,
        store.journal,
        store.rooms,
        tuple(ground.around.chat(chat) for chat in chats),
        manner,
        ground.clock,
        ground.redactor,
        lambda place: manner.in_zone(allow_list.settings(place).zone),
        spending=store.spending,
        holds=store.holds,
        operations=ground.watches.operations,
    )


def _worker(
    ground: Ground,
    begins: Reviewed,
    turns: RoomTurns,
    audits: RoomAudits,
    departures: Departures,
) -> Worker:
    settings, store, clock = ground.settings, ground.store, ground.clock
    parked = Parked(store.journal, clock, settings.limits, SandboxProbe(ground.sandbox))
    return Worker(
        f"{ground.names.worker}{os.getpid()}.{token_hex(4)}",
        journal=store.journal,
        leases=store.leases,
        runners={
            State.READY: Entitled(begins, departures, store.journal),
            State.WORKING: turns,
            State.AUDITING: audits,
            State.WAITING: parked,
            State.DECIDING: parked,
        },
        alarms=ground.alarms,
        clock=clock,
        at_once=settings.turns_at_once,
        renew_s=settings.renew_s,
        lease_s=settings.lease_s,
        rate=settings.clock_rate,
        is_alone=not ground.names.is_shared,
        rest=ground.model.withdraw,
    )
