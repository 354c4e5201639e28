"""
Windows, opened while what opens them still counts.

Rule 1: a trigger lives three seconds and is used once: the window is opened empty at once, and filled in
        when it has been read. In a window another one is laid on top.
Rule 2: what cannot be shown is a sentence in the window. Where not even that can be, it is logged: then
        Slack itself tells whoever pressed.
"""

import asyncio
import logging
from typing import Any, Final

from adapters.slack import views
from adapters.slack.calling import Calls
from adapters.slack.errands import Errands
from adapters.slack.payloads import Json, fields, opaque
from bot.errors import HeadwayError
from bot.ports.chat import Incoming
from bot.ports.windows import Windows

log = logging.getLogger(__name__)

READ_S: Final = 10.0
"""For reading a window; who waited that long has closed it."""


class Opening:
    """Opens windows."""

    def __init__(
        self, calls: Calls, windows: Windows, words: views.Words, errands: Errands
    ) -> None:
        self._calls, self._windows = calls, windows
        self._words, self._errands = words, errands

    def opens(self, pressed: Incoming) -> bool:
        """Whether it opens a window, instead of being stored."""
        return self._windows.opens(pressed)

    def begin(self, workspace: str, trigger: str, pressed: Incoming, *, is_in_modal: bool) -> bool:
        """Open it beside what is acknowledged; False where too much is under way."""
        opening = self._open(workspace, trigger, pressed, is_in_modal=is_in_modal)
        return self._errands.start(f"the window of {pressed.id}", opening)

    async def errors(self, form: Incoming) -> dict[str, str]:
        """What is wrong with a form, by the name of the input. Raises as `Windows.errors`."""
        return dict(await self._windows.errors(form))

    @property
    def lost(self) -> dict[str, Any]:
        """The answer to a form that nobody can read any more."""
        return {"response_action": "update", "view": views.failure("", self._words)}

    async def _open(
        self, workspace: str, trigger: str, pressed: Incoming, *, is_in_modal: bool
    ) -> None:
        reading = asyncio.create_task(self._view(pressed), name=f"reading {pressed.id}")
        try:
            opened = await self._calls.call(
                workspace,
                "views.push" if is_in_modal else "views.open",
                what="A window cannot be opened",
                trigger_id=trigger,
                view=views.loading(self._words),
            )
            view = opaque(fields(opened.get("view")).get("id"))
            await self._calls.call(
                workspace,
                "views.update",
                what="A window cannot be filled in",
                view_id=view,
                view=await reading,
            )
        finally:
            reading.cancel()

    async def _view(self, pressed: Incoming) -> dict[str, Any]:
        try:
            async with asyncio.timeout(READ_S):
                return views.modal(await self._windows.window(pressed))
        except HeadwayError as error:
            return views.failure(str(error), self._words)
        except Exception:
            log.exception("The window of %s cannot be read", pressed.id)
            return views.failure("", self._words)


def answer_of(errors: dict[str, str], view: Json) -> dict[str, Any]:
    """What a submission is answered: nothing, or what is wrong."""
    return views.complaints(errors, view) if errors else {}
