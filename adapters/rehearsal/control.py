"""/control: what a test may ask of a running server, and do to it.

| Request | Effect |
|---|---|
| GET /control/calls | every call; `?role=agent&conversation=..&user=..&contains=..&since=12` |
| GET /control/totals | calls and tokens by class, conversation, user and role; same filters |
| GET, POST, DELETE /control/faults | see, queue, clear: `{"fault": {...}, "count": 3 or null, ..}` |
| GET, POST /control/keys | `{"accept": [..], "revoke": [..]}` |
| POST /control/pace | `{"deltas": 50, "duration_s": 2.0, "tick_s": 0.04}` |
| POST /control/release | held calls are let go |
| POST /control/reset | calls, faults, cache and memory are forgotten; keys and pace stay |
"""

from dataclasses import asdict

from aiohttp import web

from adapters.rehearsal.ledger import WaitingFault
from adapters.rehearsal.loading import fault_of
from adapters.rehearsal.server import Rehearsal


def add_routes(app: web.Application, rehearsal: Rehearsal) -> None:
    """Put /control on the application."""
    control = Control(rehearsal)
    app.router.add_get("/control/calls", control.calls)
    app.router.add_get("/control/totals", control.totals)
    app.router.add_get("/control/faults", control.faults)
    app.router.add_post("/control/faults", control.add_fault)
    app.router.add_delete("/control/faults", control.clear_faults)
    app.router.add_get("/control/keys", control.keys)
    app.router.add_post("/control/keys", control.change_keys)
    app.router.add_post("/control/pace", control.change_pace)
    app.router.add_post("/control/release", control.release)
    app.router.add_post("/control/reset", control.reset)


class Control:
    """The handlers, over one server's state."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal

    async def calls(self, http: web.Request) -> web.Response:
        """The calls that match the query."""
        return web.json_response([asdict(r) for r in self._rehearsal.ledger.select(http.query)])

    async def totals(self, http: web.Request) -> web.Response:
        """The sums over the calls that match the query."""
        return web.json_response(self._rehearsal.ledger.totals(http.query))

    async def faults(self, http: web.Request) -> web.Response:
        """The faults that wait."""
        return web.json_response(self._rehearsal.faults.as_json())

    async def add_fault(self, http: web.Request) -> web.Response:
        """Queue a fault."""
        wanted = await http.json()
        waiting = WaitingFault(
            fault=fault_of(wanted.get("fault") or {}),
            left=wanted.get("count", 1),
            role=wanted.get("role"),
            contains=wanted.get("contains"),
        )
        self._rehearsal.faults.add(waiting)
        return await self.faults(http)

    async def clear_faults(self, http: web.Request) -> web.Response:
        """Drop the faults, and let go what hangs."""
        self._rehearsal.faults.clear()
        self._rehearsal.delivery.release()
        return await self.faults(http)

    async def keys(self, http: web.Request) -> web.Response:
        """Which keys are good."""
        return web.json_response(self._rehearsal.keys.as_json())

    async def change_keys(self, http: web.Request) -> web.Response:
        """Accept and revoke keys."""
        wanted = await http.json()
        self._rehearsal.keys.accept(wanted.get("accept") or ())
        self._rehearsal.keys.revoke(wanted.get("revoke") or ())
        return await self.keys(http)

    async def change_pace(self, http: web.Request) -> web.Response:
        """Change how replies are spread."""
        self._rehearsal.delivery.set_pace(await http.json())
        return web.json_response(asdict(self._rehearsal.delivery.pace))

    async def release(self, http: web.Request) -> web.Response:
        """Let go what hangs."""
        self._rehearsal.delivery.release()
        return web.json_response({})

    async def reset(self, http: web.Request) -> web.Response:
        """Forget what happened."""
        rehearsal = self._rehearsal
        rehearsal.ledger.reset()
        rehearsal.faults.clear()
        rehearsal.delivery.release()
        rehearsal.cache.clear()
        rehearsal.memory.clear()
        return web.json_response({})
