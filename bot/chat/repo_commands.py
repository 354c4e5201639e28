"""
`room repo`: the repositories that a room's goals may start from.

Rule: an admin's alone. A change and its answer are one transaction, and the room is told once. A credential
is never in it: it is named, and given as a secret.
"""

from dataclasses import replace

from bot.chat.desk import Desk
from bot.chat.heard import Heard
from bot.chat.repo_words import RepoWords, listed
from bot.chat.secret_lending import refuse_foreign
from bot.errors import BadInput, Refused
from bot.goals.objective_lines import repository_in
from bot.ports.chat import Place
from bot.ports.people import Answer, Note
from bot.ports.repositories import Repositories, Repository

MOST = 50


async def refuse_unknown(desk: Desk, place: Place, objective: str) -> None:
    """Raise BadInput where an objective names a repository that its room has not."""
    name = repository_in(objective)
    if not name or desk.repositories is None:
        return
    room = Place(place.network, place.workspace, place.room)
    if not any(one.name == name for one in await desk.repositories.of(room)):
        raise BadInput(desk.manner.texts("bad.repo.unknown", name=name))


class RepoCommands:
    """`repo add URL [as NAME] [secret NAME] [branch B]`, `repo remove NAME`, `repo list`."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def show(self, heard: Heard, place: Place) -> None:
        """The room's repositories."""
        repositories = await self._kept().of(place)
        await self._desk.answer(heard, listed(list(repositories), self._desk.manner.texts))

    async def change(self, heard: Heard, place: Place, words: RepoWords) -> None:
        """Add or remove one. Raises BadInput, Refused."""
        if words.add is not None:
            await self._add(heard, place, replace(words.add, by=heard.person))
        else:
            await self._remove(heard, place, words.remove)
        self._desk.posted()

    async def _add(self, heard: Heard, place: Place, repository: Repository) -> None:
        texts, known = self._desk.manner.texts, await self._kept().of(place)
        is_there = any(one.name == repository.name for one in known)
        if len(known) >= MOST and not is_there:
            raise BadInput(texts("bad.repo.many", most=MOST))
        await refuse_foreign(self._desk, heard, place, repository.secret)
        key = "said.repo.changed" if is_there else "said.repo.added"
        shown = {"name": repository.name, "url": repository.url}
        told = texts(key, by=heard.message.speaker.name, **shown)
        if repository.secret:
            told = f"{told}\n{texts('said.repo.secret', secret=repository.secret)}"
        await self._kept().put(place, repository, await self._told(heard, place, told))

    async def _remove(self, heard: Heard, place: Place, name: str) -> None:
        texts = self._desk.manner.texts
        told = texts("said.repo.removed", name=name, by=heard.message.speaker.name)
        if not await self._kept().remove(place, name, await self._told(heard, place, told)):
            raise BadInput(texts("bad.repo.unknown", name=name[:60]))

    async def _told(self, heard: Heard, place: Place, text: str) -> Answer:
        answer = await self._desk.reply(heard, text)
        if not heard.message.place.thread:
            return answer
        main = (await self._desk.rooms.begin(place)).session
        return Answer((*answer.notes, Note(main, f"room:{heard.id}", text)), answer.handled)

    def _kept(self) -> Repositories:
        if self._desk.repositories is None:
            raise Refused("Repositories are not kept here.", code="no_repositories")
        return self._desk.repositories
