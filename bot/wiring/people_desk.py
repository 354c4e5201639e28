"""
What other commands may ask about people and rooms: the list, a code to claim with, settings.

Rule: the answers are the same whether a running Headway gives them or a command that took the folder.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from secrets import token_hex
from typing import Any, Final, get_args

from adapters.console.parse import ROOM
from adapters.store.open import Store
from bot.chat import claims
from bot.chat.allow_list import AllowList
from bot.chat.people_words import read_subject, refuse_everybody, shown
from bot.chat.room_words import OPEN, key_named, read_value, unknown_key, value_text
from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.ports.chat import Network, Place, Speaker
from bot.ports.installs import Install
from bot.ports.people import ROLES, Answer, Entry, Note, Role, Subject
from bot.ports.room_settings import KEYS
from bot.settings import Settings
from bot.wiring.names import Names, names_of
from bot.wiring.people import open_allow_list
from bot.wiring.slack_app import only_install
from scheduler.control import Request

NETWORKS: Final[tuple[Network, ...]] = get_args(Network)


def _nothing() -> None:
    return


async def _no_install() -> Install | None:
    return None


class PeopleDesk:
    """Answers requests about people and rooms."""

    def __init__(
        self,
        allow_list: AllowList,
        store: Store,
        names: Names,
        posted: Callable[[], None] = _nothing,
        only_install: Callable[[], Awaitable[Install | None]] = _no_install,
    ) -> None:
        """`only_install`: of Slack, where there is one and no more; ids without a workspace are its."""
        self._allow_list = allow_list
        self._store = store
        self._names = names
        self._posted, self._only_install = posted, only_install
        self._texts = Texts()

    async def __call__(self, request: Request) -> dict[str, Any] | None:
        """The answer; None for a request about something else. Raises Refused, BadInput."""
        match request:
            case {"do": "allow.list"}:
                return {"entries": await self._entries()}
            case {"do": "allow.add", "who": str(who)}:
                return await self._add(await self._subject(request, who), request)
            case {"do": "allow.remove", "who": str(who)}:
                return await self._remove(await self._subject(request, who), request)
            case {"do": "claim.new"}:
                return {"code": await self._new_code(), "lasts_s": claims.LASTS_S}
            case {"do": "room.show", "room": str(room)}:
                return await self._show(await self._room(room), str(request.get("key") or ""))
            case {"do": "room.set", "room": str(room), "key": str(key), "value": str(value)}:
                return await self._set(await self._room(room), key, value)
            case {"do": "people.gone", "who": str(who)}:
                subject = await self._subject(request, who)
                place = Place(subject.network, "", "")
                is_gone = bool(request.get("is_gone", True))
                await self._allow_list.gone(
                    place, Speaker(subject.id, subject.name or subject.id), is_gone=is_gone
                )
                return {"who": shown(subject), "is_gone": is_gone}
            case _:
                return None

    async def _add(self, subject: Subject, request: Request) -> dict[str, Any]:
        refuse_everybody(subject, self._texts)
        role = _role(request.get("role") or "user")
        room = await self._scope(request)
        is_new = await self._allow_list.allow(Entry(subject, role, room))
        return {
            "who": shown(subject),
            "network": subject.network,
            "role": role,
            "room": _room_name(room),
            "is_new": is_new,
        }

    async def _remove(self, subject: Subject, request: Request) -> dict[str, Any]:
        word = request.get("role")
        role = None if word is None else _role(word)
        room = await self._scope(request)
        removed = await self._allow_list.remove(subject, role=role, room=room)
        keeps = any(one.subject.is_same(subject) for one in self._allow_list.register.entries)
        return {"who": shown(subject), "removed": removed, "keeps": keeps}

    async def _entries(self) -> list[dict[str, Any]]:
        await self._allow_list.load()
        entries = self._allow_list.register.entries
        givers = sorted({entry.given_by for entry in entries if entry.given_by})
        people = await self._store.rooms.people(givers)
        return [
            {
                "who": shown(entry.subject),
                "kind": entry.subject.kind,
                "network": entry.subject.network,
                "role": entry.role,
                "room": _room_name(entry.room),
                "given_by": people[entry.given_by].name if entry.given_by in people else "",
                "given_at": entry.given_at,
            }
            for entry in entries
        ]

    async def _new_code(self) -> str:
        code = claims.new_code()
        await self._store.doors.open_claim(claims.code_hash(code), lasts_s=claims.LASTS_S)
        return code

    async def _show(self, room: Place, word: str) -> dict[str, Any]:
        only = key_named(word)
        if word and only is None:
            raise unknown_key(word, self._texts)
        await self._allow_list.load()
        settings, own = self._allow_list.settings(room), self._allow_list.kept(room)
        above = self._allow_list.kept(Place(room.network, room.workspace, ""))
        setters = sorted({kept.by for kept in (*own.values(), *above.values()) if kept.by})
        people = await self._store.rooms.people(setters)
        rows = []
        for key in KEYS if only is None else (only,):
            kept = own.get(key) or above.get(key)
            rows.append(
                {
                    "key": key,
                    "value": getattr(settings, key),
                    "shown": value_text(getattr(settings, key), self._texts),
                    "from": "room" if key in own else "workspace" if kept else "default",
                    "by": people[kept.by].name if kept and kept.by in people else "",
                    "at": kept.at if kept else None,
                    "help": self._texts(f"room.{key}"),
                }
            )
        return {"room": _room_name(room), "settings": rows}

    async def _set(self, room: Place, word: str, text: str) -> dict[str, Any]:
        key = key_named(word)
        if key is None:
            raise unknown_key(word, self._texts)
        value = None if text.lower() == OPEN else read_value(key, text, self._texts)
        value_shown = value_text(value, self._texts)
        answer = Answer()
        if room.room:
            by = self._texts("room.operator")
            told = self._texts("said.room.set", key=key, value=value_shown, by=by)
            session = (await self._store.rooms.begin(room)).session
            answer = Answer((Note(session, f"room:{token_hex(8)}", told),))
        await self._allow_list.set_for_room(room, key, value, by="", answer=answer)
        self._posted()
        return {"room": _room_name(room), "key": key, "shown": value_shown}

    async def _subject(self, request: Request, who: str) -> Subject:
        network = _network(str(request.get("network") or "console"))
        place = Place(network, await self._home(network, who), "")
        word = who if who.startswith(("@", "<", "room:", "server:", "group:")) else f"@{who}"
        subject = read_subject(word, place)
        if subject is None:
            raise BadInput(
                f"{who[:60]!r} names nobody. Give @NAME, room:NAME, server:NAME or group:ID."
            )
        if subject.network == "slack" and subject.kind == "person" and ":" not in subject.id:
            raise BadInput(
                f"{who[:60]} is no id of Slack's. Open the person's profile there, take Copy member ID, and "
                "give it: @U01ABC2DEF, or with their workspace @T01ABC2DEF:U01ABC2DEF."
            )
        return subject

    async def _scope(self, request: Request) -> Place | None:
        """The room that is meant, or None for all."""
        word = request.get("room")
        return None if word is None else await self._room(str(word))

    async def _room(self, text: str) -> Place:
        """`ROOM`, `NETWORK:ROOM` or `NETWORK:WORKSPACE/ROOM`; `*` is the whole workspace."""
        before, colon, rest = text.partition(":")
        if not colon:
            before, rest = "console", text
        network = _network(before)
        workspace, _, room = rest.rpartition("/")
        if not room:
            raise BadInput(f"{text!r} names no room. Give its name, or `*` for all of a workspace.")
        name = "" if room == "*" else room
        if network == "console" and name not in ("", ROOM):
            raise BadInput(f"There is no room {name} at the console: its one room is `{ROOM}`.")
        if not workspace and network == "slack":
            workspace = (await self._install(text)).workspace
        return Place(network, workspace or self._names.workspace(network), name)

    async def _home(self, network: Network, who: str) -> str:
        """Of whom only a part is said, the rest: of the bot's own workspace."""
        word = who.removeprefix("@")
        if network != "slack" or ":" in word.removeprefix("room:"):
            return self._names.workspace(network)
        if word.startswith("room:"):
            return (await self._install(who)).workspace
        if word[:1] not in ("U", "W"):
            return ""
        install = await self._install(who)
        return install.organisation or install.workspace

    async def _install(self, said: str) -> Install:
        """The only install. Raises BadInput: there are several, or none."""
        install = await self._only_install()
        if install is None:
            raise BadInput(
                f"Say the workspace, too: {said[:60]!r} may be of several, or of none. People are "
                "@T01ABC2DEF:U01ABC2DEF, rooms slack:T01ABC2DEF/C01ABC2DEF; `headway slack status` names "
                "the workspaces."
            )
        return install


async def alone(settings: Settings, store: Store) -> PeopleDesk:
    """A desk for a command that owns the state folder itself."""
    names = names_of(settings)
    allow_list = await open_allow_list(settings, names, store)
    only = partial(only_install, settings, store.installs)
    return PeopleDesk(allow_list, store, names, only_install=only)


def _network(word: str) -> Network:
    if word not in NETWORKS:
        raise BadInput(f"There is no network {word}. There are: {', '.join(NETWORKS)}.")
    return word


def _role(word: object) -> Role:
    if word not in ROLES:
        raise BadInput(f"{word!r} is no role. Roles are: {', '.join(ROLES)}.")
    return word


def _room_name(room: Place | None) -> str:
    if room is None:
        return ""
    parts = "/".join(part for part in (room.workspace, room.room or "*") if part)
    return f"{room.network}:{parts}"
