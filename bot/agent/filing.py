"""
Files of a turn: those that people gave go into the workspace, those to be shared come out of it.

Rule 1: a file is in the workspace before the call that tells the agent of it. Cut off, it is put there
        again: the same bytes, in the same place.
Rule 2: what cannot be put there or taken out is a sentence for the agent, never an error of the turn.
Rule 3: the bytes of a shared file are kept before the unit that posts it is staged.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from bot.agent import prompts
from bot.agent.hands import Hands
from bot.errors import BadInput, NoSandbox, Refused, StoreUnusable
from bot.ports.attached import path_of, paths_in, safe_name, size_of, type_of
from bot.ports.chat import Attachment
from bot.ports.files import Attachments, Files

PIECE_BYTES: Final = 1024 * 1024
SHARED_MOST: Final = 20
"""Files of one goal. Whoever has more packs them together."""


@dataclass(frozen=True, slots=True)
class Shelves:
    """Where files are kept, and what tells which there are."""

    files: Files
    attachments: Attachments


class Filing:
    """The files of one turn."""

    def __init__(self, shelves: Shelves | None, hands: Hands) -> None:
        self._shelves, self._hands = shelves, hands
        self._placed: set[str] = set()

    @property
    def has_placed(self) -> bool:
        """Something was put into the workspace."""
        return bool(self._placed)

    async def place(self, session: str, texts: Iterable[str]) -> str:
        """Put the files there of which these texts tell; returns what the agent has to know besides."""
        paths = [path for text in texts for path in paths_in(text) if path not in self._placed]
        if not paths or self._shelves is None:
            return ""
        names = [path.rpartition("/")[2] for path in paths]
        came = await self._shelves.attachments.came(session, names)
        files = {path_of(id, one.name): one for id, each in came.items() for one in each}
        lines = []
        for path in dict.fromkeys(paths):
            if path in files:
                lines.append(await self._place(path, files[path]))
                self._placed.add(path)
        return "\n".join(filter(None, lines))

    async def take(self, goal: str, args: Mapping[str, Any]) -> Attachment:
        """Keep a file of the workspace for the thread.

        Raises:
            BadInput: it cannot be shared; the message is meant for the agent.
        """
        if self._shelves is None:
            raise BadInput("Files cannot be shared here. Put what matters into your reply.")
        files, path = self._shelves.files, str(args["path"])
        shared = await self._shelves.attachments.of_goal(goal)
        if len(shared) >= SHARED_MOST:
            raise BadInput(
                f"This goal has shared {SHARED_MOST} files, as many as it may. Pack more into one."
            )
        try:
            kept = await files.keep(self._hands.take(path, most=files.most))
        except (NoSandbox, StoreUnusable) as error:
            raise BadInput(f"It cannot be shared: {error}") from error
        name = safe_name(path)
        taken = Attachment(name, type_of(name), kept.size, kept.hash)
        if taken in shared:
            raise BadInput(f"{name} is in the thread already, just as it is.")
        return taken

    async def _place(self, path: str, file: Attachment) -> str:
        assert self._shelves is not None
        try:
            with await self._shelves.files.open(file.hash) as blob:
                there = await self._hands.put(path, file.hash, _pieces(blob))
        except (BadInput, Refused, NoSandbox, StoreUnusable) as error:
            return prompts.not_placed(path, str(error))
        return "" if there == path else prompts.placed_beside(path, there)


def told(file: Attachment) -> str:
    """What the agent hears of a file that it has shared."""
    return f"{file.name} ({size_of(file.size)}) goes to the thread."


async def _pieces(blob: BinaryIO) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(blob.read, PIECE_BYTES):
        yield piece
