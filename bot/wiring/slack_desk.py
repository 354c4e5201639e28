"""What other commands may ask about the Slack app: who serves it; to forget a workspace."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bot.chat.operations import Operations
from bot.ports.chat import Place, Receive, RoomLost, Speaker
from bot.ports.clock import Clock
from bot.ports.installs import Installs
from bot.wiring.charge import Charge
from scheduler.control import Request

SHARED: Final = ("sockets", "slack")
"""The incident of an app that two processes hear."""


def _none() -> Mapping[str, str]:
    return {}


@dataclass(slots=True)
class SlackSight:
    """What the part that serves the app can say of it; filled once that is built."""

    troubles: Callable[[], Mapping[str, str]] = _none
    """Of workspaces, why their tokens are not renewed: `Tokens.troubles`."""
    heard: dict[str, float] = field(default_factory=dict)
    """When each kind of event came last: `Subscribed.last`."""
    others: Callable[[], int] = int
    """How many of the app's sockets are another process's."""


class TokenWatch:
    """Tells the operations room of tokens that are not renewed, while there is time; and of others who
    hear what is said to the app.
    """

    def __init__(self, sight: SlackSight, operations: Operations, charge: Charge) -> None:
        self._sight, self._operations, self._charge = sight, operations, charge

    async def look(self) -> None:
        """Tell of each once, and of its end. Raises HeadwayError."""
        if not self._charge.is_held:
            return
        troubles = self._sight.troubles()
        for workspace, why in tuple(troubles.items()):
            await self._operations.trouble("token", workspace, why)
        for kind, workspace in self._operations.open:
            if kind == "token" and workspace not in troubles:
                await self._operations.over("token", workspace)
        if others := self._sight.others():
            await self._operations.trouble(*SHARED, str(others))
        elif SHARED in self._operations.open:
            await self._operations.over(*SHARED)


class SlackDesk:
    """Answers requests about the app."""

    def __init__(
        self,
        installs: Installs,
        receive: Receive,
        clock: Clock,
        charge: Charge | None = None,
        sight: SlackSight | None = None,
    ) -> None:
        """`charge`: None in a command that serves nothing."""
        self._installs, self._receive, self._clock = installs, receive, clock
        self._charge, self._sight = charge, sight or SlackSight()
        self._since = clock.now()

    async def __call__(self, request: Request) -> dict[str, Any] | None:
        """The answer; None for a request about something else."""
        match request:
            case {"do": "slack.status"}:
                serves = self._charge is not None and self._charge.is_held
                return {
                    "serves": serves,
                    "since": self._since,
                    "troubles": dict(self._sight.troubles()),
                    "heard": dict(self._sight.heard),
                    "others": self._sight.others(),
                }
            case {"do": "slack.forget", "workspace": str(workspace)}:
                return await self._forget(workspace)
            case _:
                return None

    async def _forget(self, workspace: str) -> dict[str, Any]:
        """The loss is stored first: whoever is killed in between says it again, and it is whole."""
        now = self._clock.now()
        place, operator = Place("slack", workspace, ""), Speaker("operator", "the operator")
        await self._receive(RoomLost(f"{workspace}:{now:.6f}", place, operator, "uninstalled", now))
        return {"erased": await self._installs.erase("slack", workspace)}
