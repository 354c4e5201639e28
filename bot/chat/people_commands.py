"""
The verbs about people and rooms: `allow`, `room`, `claim`, `access`, `why`.

Rule: a change and its answer are one transaction; a room is told once of a change to it.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from bot.chat import claims
from bot.chat.desk import Desk, is_shared
from bot.chat.heard import Heard
from bot.chat.mcp_commands import McpCommands
from bot.chat.mcp_words import McpWords, read_mcp
from bot.chat.parse import Command
from bot.chat.people_words import EntryWords, mentioned, read_entry, shown, subject_word
from bot.chat.replies import SETTINGS
from bot.chat.repo_commands import RepoCommands
from bot.chat.repo_words import RepoWords, read_repo
from bot.chat.rights import Act, may
from bot.chat.room_words import key_named, read_setting, unknown_key, value_text
from bot.chat.secret_commands import readable
from bot.chat.times import DAY_S, moment
from bot.chat.untaken import why_untaken
from bot.ports.chat import Place
from bot.ports.doors import Claimed
from bot.ports.people import Answer, Entry, Note, Subject
from bot.ports.room_settings import KEYS

May = Callable[[Heard, Act], Awaitable[bool]]
"""`Commands.may`."""


class PeopleCommands:
    """One method a verb."""

    verbs: Final = frozenset({"allow", "room", "claim", "access", "why"})

    def __init__(self, desk: Desk, may: May) -> None:
        self._desk = desk
        self._may = may
        self._tries = claims.Tries()
        self._repos = RepoCommands(desk)
        self._mcp = McpCommands(desk)

    async def run(self, heard: Heard, command: Command) -> None:
        """Do what the command says. Raises Refused, BadInput."""
        match command.verb.name:
            case "allow":
                await self._allow(heard, command.text)
            case "room":
                await self._room(heard, command.text)
            case "claim":
                await self._claim(heard, command.text)
            case "access":
                await self._access(heard)
            case _:
                await self._why(heard)

    async def _allow(self, heard: Heard, text: str) -> None:
        place = heard.message.place
        words = read_entry(text, place, self._desk.manner.texts)
        if words is None:
            await self._desk.answer(heard, await self._list(place))
        elif words.removes:
            await self._remove(heard, words)
        else:
            await self._add(heard, words)
        self._desk.posted()

    async def _add(self, heard: Heard, words: EntryWords) -> None:
        texts, room = self._desk.manner.texts, await self._scope(heard, words)
        role = words.role or "user"
        entry = Entry(words.subject, role, room, heard.person)
        is_there = any(
            one.subject.is_same(words.subject) and one.role == role and one.room == room
            for one in self._desk.allow_list.register.entries
        )
        told = texts(
            "said.allowed.already" if is_there else "said.allowed",
            name=shown(words.subject),
            role=texts(f"role.{role}"),
            where=texts("allow.here" if room else "allow.everywhere"),
        )
        await self._desk.allow_list.allow(entry, await self._desk.reply(heard, told))

    async def _remove(self, heard: Heard, words: EntryWords) -> None:
        texts, subject = self._desk.manner.texts, words.subject
        room = await self._scope(heard, words)
        keeps = self._desk.allow_list.keeps(subject, role=words.role, room=room)
        key = "said.removed.partly" if keeps else "said.removed"
        told = texts(key, name=shown(subject))
        answer = await self._desk.reply(heard, told)
        await self._desk.allow_list.remove(subject, role=words.role, room=room, answer=answer)

    async def _scope(self, heard: Heard, words: EntryWords) -> Place | None:
        """The room that is meant, or None for all; who is an admin of one room changes that alone."""
        message = heard.message
        is_chief = await self._desk.allow_list.is_chief(message.place, message.speaker)
        return _room_of(heard) if words.is_here or not is_chief else None

    async def _list(self, place: Place) -> str:
        texts = self._desk.manner.texts
        entries = [
            entry
            for entry in self._desk.allow_list.register.entries
            if entry.subject.network == place.network and _is_seen_from(entry, place)
        ]
        if not entries:
            return texts("said.allow.empty")
        lines = [
            texts(
                "said.allow.line",
                name=shown(entry.subject),
                role=texts(f"role.{entry.role}"),
                where=texts("allow.here" if entry.room else "allow.everywhere"),
            )
            for entry in entries
        ]
        return "\n".join([texts("said.allow.head"), *lines, "", texts("said.allow.foot")])

    async def _room(self, heard: Heard, text: str) -> None:
        texts, place = self._desk.manner.texts, _room_of(heard)
        repo = read_repo(text, texts)
        if repo is not None:
            await self._repo(heard, place, repo)
            return
        mcp = read_mcp(text, texts)
        if mcp is not None:
            await self._servers(heard, place, mcp)
            return
        if not text:
            reason = SETTINGS if may(Act.SETTINGS, heard.roles, room=heard.room) else ""
            await self._desk.answer(heard, await self._settings(place), reason=reason)
            return
        if len(text.split()) == 1:
            key = key_named(text)
            if key is None:
                raise unknown_key(text, texts)
            await self._desk.answer(heard, await self._settings(place, key))
            return
        read = read_setting(text, texts)
        if read is None:
            raise unknown_key(text.split(maxsplit=1)[0], texts)
        if not await self._may(heard, Act.SETTINGS):
            return
        key, value = read
        shown_value = value_text(value, texts)
        by = heard.message.speaker.name
        told = texts("said.room.set", key=key, value=shown_value, by=by)
        answer = await self._desk.reply(heard, told)
        if heard.message.place.thread:
            # The room is told, too: a setting is not the thread's alone.
            main = (await self._desk.rooms.begin(place)).session
            answer = Answer((*answer.notes, Note(main, f"room:{heard.id}", told)), answer.handled)
        await self._desk.allow_list.set_for_room(place, key, value, by=heard.person, answer=answer)
        self._desk.posted()

    async def _repo(self, heard: Heard, place: Place, words: RepoWords) -> None:
        if words == RepoWords():
            await self._repos.show(heard, place)
        elif await self._may(heard, Act.SETTINGS):
            await self._repos.change(heard, place, words)

    async def _servers(self, heard: Heard, place: Place, words: McpWords) -> None:
        if words.doing == "list":
            await self._mcp.show(heard, place)
        elif await self._may(heard, Act.SETTINGS):
            await self._mcp.change(heard, place, words)

    async def _settings(self, place: Place, only: str = "") -> str:
        texts, allow_list = self._desk.manner.texts, self._desk.allow_list
        settings, own = allow_list.settings(place), allow_list.kept(place)
        above = allow_list.kept(Place(place.network, place.workspace, ""))
        people = await self._desk.rooms.people(
            sorted({kept.by for kept in (*own.values(), *above.values()) if kept.by})
        )
        lines = []
        for key in KEYS if not only else (only,):
            kept = own.get(key) or above.get(key)
            value = value_text(getattr(settings, key), texts)
            if kept is None:
                by = texts("room.default")
            else:
                name = people[kept.by].name if kept.by in people else texts("room.operator")
                by = texts(
                    "room.set_by" if key in own else "room.set_by.workspace",
                    name=name,
                    time=self._moment(place, kept.at),
                )
            help_text = texts(f"room.{key}")
            lines.append(texts("said.room.line", key=key, value=value, by=by, help=help_text))
        if only:
            return "\n".join(lines)
        further = filter(None, (await self._mcp.brief(place), await readable(self._desk, place)))
        foot = (*further, "", texts("said.room.foot"))
        return "\n".join([*lines, *foot])

    def _moment(self, place: Place, at: float) -> str:
        manner = self._desk.manner_in(place)
        return moment(at, self._desk.clock.now(), manner.zone, manner.texts)

    async def _claim(self, heard: Heard, code: str) -> None:
        texts, doors = self._desk.manner.texts, self._desk.doors
        now = self._desk.clock.now()
        if not self._tries.may_try(heard.person, now):
            await self._desk.inbox.handled(heard.id)
            return
        if not await self._desk.allow_list.members.is_direct(heard.message.place):
            await doors.void_claim(claims.code_hash(code))
            told = texts("said.claim.public")
            answer_once = await self._desk.reply(heard, told, is_public=False)
            key = f"claim:{heard.person}"
            await doors.say_once(key, every_s=DAY_S, answer=answer_once)
            self._desk.posted()
            return
        session = (await self._desk.where(heard)).session

        def answer(outcome: Claimed) -> Answer:
            told_claim = texts(f"said.claim.{outcome}", name=heard.message.speaker.name)
            return Answer((Note(session, f"reply:{heard.id}", told_claim),), (heard.id,))

        outcome = await doors.claim(claims.code_hash(code), heard.person, answer)
        if outcome == "taken":
            await self._desk.allow_list.reload()
        else:
            self._tries.failed(heard.person, now)
        self._desk.posted()

    async def _access(self, heard: Heard) -> None:
        texts, place = self._desk.manner.texts, _room_of(heard)
        if heard.roles:
            await self._desk.answer(heard, texts("said.access.has"))
            return
        speaker = heard.message.speaker
        who = Subject("person", place.network, speaker.id, name=speaker.name)
        main = (await self._desk.rooms.begin(place)).session
        card = Note(
            main,
            f"access:{heard.id}",
            texts(
                "access.card",
                name=speaker.name,
                word=shown(who),
                admins=mentioned(self._desk.allow_list.admins(place), texts),
            ),
            f"access:{subject_word(who)}",
        )
        told = texts("said.access.asked")
        answer = await self._desk.reply(heard, told, card, is_public=False)
        key = f"access:{heard.person}:{place.network}:{place.workspace}:{place.room}"
        await self._desk.doors.say_once(key, every_s=DAY_S, answer=answer)
        self._desk.posted()

    async def _why(self, heard: Heard) -> None:
        texts, doors, message = self._desk.manner.texts, self._desk.doors, heard.message
        if message.reply_to:
            found = await doors.heeded(message.reply_to)
        else:
            found = await doors.last_heeded(message.place, heard.person, heard.id)
            if found is None and message.place.thread:
                # The first word in a thread is about the message under which the thread hangs.
                found = await doors.heeded(message.place.thread)
        is_seen = found is not None and _same_room(found.message.place, message.place)
        if found is None or not is_seen:
            await self._desk.answer(heard, texts("said.why.unknown"))
            return
        roles = await self._desk.allow_list.of(found.message)
        room = self._desk.allow_list.settings(message.place)
        place = found.message.place
        thread = await self._desk.rooms.thread(place)
        has_goal = thread is not None and bool(place.thread or thread.goal)
        key = why_untaken(
            found,
            roles,
            room,
            texts,
            in_thread=has_goal,
            mention=await self._desk.mention_in(thread.place)
            if thread and has_goal
            else room.mention,
            is_direct=not has_goal and await self._desk.is_direct(place),
            is_shared=is_shared(place),
        )
        name = found.message.speaker.name
        await self._desk.answer(heard, texts(f"said.why.{key}", name=name, why=found.why))


def _room_of(heard: Heard) -> Place:
    place = heard.message.place
    return Place(place.network, place.workspace, place.room)


def _same_room(one: Place, other: Place) -> bool:
    return (one.network, one.workspace, one.room) == (other.network, other.workspace, other.room)


def _is_seen_from(entry: Entry, place: Place) -> bool:
    return entry.room is None or _same_room(entry.room, place)
