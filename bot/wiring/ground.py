"""What every part of a process stands on: store, clock, model, sandbox, and who watches them."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from adapters.clock import WallClock
from adapters.gateway.gateway import ProxyGateway
from adapters.mcp.toolbox import McpToolbox
from adapters.snapshots.folder import SnapshotFolder
from adapters.store.open import Store, open_store
from adapters.telemetry.logs import redact_with
from bot.chat.facts import Manner
from bot.known import learn_settings
from bot.ports.clock import Clock
from bot.ports.files import Files
from bot.ports.model import Model
from bot.ports.sandbox import Sandbox
from bot.redaction import Redactor
from bot.settings import Settings
from bot.wiring.caps import guard_of
from bot.wiring.discreet import DiscreetModel
from bot.wiring.endpoint import open_model
from bot.wiring.files import open_files
from bot.wiring.folder import owned, prepare_folder
from bot.wiring.gateway import open_gateway
from bot.wiring.keys import sealing_of
from bot.wiring.mcp import open_mcp
from bot.wiring.names import Names, names_of, take_over
from bot.wiring.operations import Watches, build_watches
from bot.wiring.room_secrets import RoomSecrets
from bot.wiring.sandbox import Built, discreet_sandbox, open_sandbox
from bot.wiring.secrets import KnownInstalls, KnownSecrets, learn_stored
from bot.wiring.snapshots import open_snapshots
from bot.wiring.told import Told
from bot.wiring.upkeep import keep_before
from bot.wiring.watch import Watch, watching
from scheduler.alarms import Alarms

Wrap = Callable[[Any], Any]


def _as_it_is(part: Any) -> Any:
    return part


@dataclass(frozen=True, slots=True)
class Around:
    """What stands between the parts: each is given a part and returns what is used in its place."""

    store: Wrap = _as_it_is
    model: Wrap = _as_it_is
    sandbox: Wrap = _as_it_is
    chat: Wrap = _as_it_is
    redactor: Redactor = field(default_factory=Redactor)
    """What knows the secrets of the process, where more than its parts has to know them."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The parts that do not work at goals themselves. `told` is the store's journal."""

    settings: Settings
    around: Around
    names: Names
    clock: Clock
    redactor: Redactor
    watch: Watch
    store: Store
    told: Told
    alarms: Alarms
    manner: Manner
    watches: Watches
    claude: Any
    """The model's adapter, as it is; `model` is what is called."""
    model: Model
    confined: Built | None
    """The sandbox, as it is; `sandbox` is what tools are given."""
    sandbox: Sandbox | None
    files: Files
    snapshots: SnapshotFolder
    gateway: ProxyGateway | None
    """The proxy between sandboxes and the network; None where there is none."""
    mcp: McpToolbox
    """The tools of rooms' MCP servers."""
    lent: RoomSecrets
    """The secrets that rooms' repositories and servers name."""


async def open_ground(stack: AsyncExitStack, settings: Settings, around: Around) -> Ground:
    """Open everything that has to be closed again, in this order.

    Raises: as `bot.wiring.running`.
    """
    prepare_folder(settings)
    clock, names, redactor = WallClock(settings.clock_rate), names_of(settings), around.redactor
    stack.enter_context(owned(settings.state_dir))
    learn_settings(redactor, settings)
    redact_with(redactor.text)
    watch = await stack.enter_async_context(watching(settings, clock, redactor))
    store, told = await _opened_store(stack, settings, names, clock, around)
    alarms = Alarms()
    manner = Manner(zone=settings.tz, commands={"slack": settings.slack_command})
    watches = build_watches(stack, settings, names, clock, store, alarms, manner)
    claude = await open_model(stack, settings, clock, store, redactor, watches.endpoint)
    learning = asyncio.create_task(claude.learn(), name="learning")
    stack.callback(learning.cancel)
    confined = await open_sandbox(stack, settings)
    gateway = await open_gateway(stack, settings, store.secrets)
    lent = RoomSecrets(store.secrets, store.secret_uses)
    mcp = await open_mcp(stack, settings, store, redactor.text, lent)
    return Ground(
        settings=settings,
        around=around,
        names=names,
        clock=clock,
        redactor=redactor,
        watch=watch,
        store=store,
        told=told,
        alarms=alarms,
        manner=manner,
        watches=watches,
        claude=claude,
        model=cast(Model, DiscreetModel(around.model(claude), redactor)),
        confined=confined,
        sandbox=discreet_sandbox(around.sandbox(confined), redactor),
        files=open_files(settings),
        snapshots=open_snapshots(settings),
        gateway=gateway,
        mcp=mcp,
        lent=lent,
    )


async def _opened_store(
    stack: AsyncExitStack, settings: Settings, names: Names, clock: Clock, around: Around
) -> tuple[Store, Told]:
    store = await stack.enter_async_context(
        open_store(
            settings.database_url,
            clock=clock,
            limits=settings.limits,
            state_dir=settings.state_dir,
            lease_s=settings.lease_s,
            home=names.home,
            sealing=sealing_of(settings),
            guard=guard_of(settings),
            before=partial(keep_before, settings),
        )
    )
    await learn_stored(around.redactor, store.secrets)
    await take_over(store, names)
    told = Told(store.journal)
    installs = KnownInstalls(store.installs, around.redactor)
    secrets = KnownSecrets(store.secrets, around.redactor)
    known = replace(
        store, journal=cast(Any, told), installs=cast(Any, installs), secrets=cast(Any, secrets)
    )
    return around.store(known), told
