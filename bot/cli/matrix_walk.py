"""
The walk of `headway matrix login`: each answer is tried as it is given, and asked again until it works.

Rule 1: an answer that was given beforehand is not asked for; where nobody can be asked, what is wrong
        with it ends the walk.
Rule 2: the password is neither shown nor kept.
Rule 3: a session that is there is left alone until the new one is.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

from adapters.matrix import login
from adapters.matrix.account import Account, AccountFile
from adapters.matrix.cross_signing import NotSigned
from adapters.matrix.crypto_store import CryptoStoreBusy
from adapters.matrix.errors import cause
from adapters.matrix.homeserver import Homeserver, discover
from adapters.matrix.login import Done, Proof, WrongPassword
from bot.cli.exits import KNOWN
from bot.cli.init_asking import hidden
from bot.cli.matrix_kept import full_id, has_admin, is_same, live_goals
from bot.cli.people import asked
from bot.errors import BadInput, BadSettings, ByOperator, HeadwayError, Refused, Wait
from bot.settings import Settings
from bot.wiring import prepare_folder
from bot.wiring.keys import matrix_account
from bot.wiring.matrix_account import is_first_secret
from bot.wiring.program import program
from scheduler.control import ask_owner

T = TypeVar("T")

BY_PASSWORD: Final = "m.login.password"
TROUBLES: Final = (Wait, ByOperator, Refused, BadInput)


@dataclass(frozen=True, slots=True)
class Given:
    """What was said beforehand; empty where it is to be asked for."""

    homeserver: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    name: str = ""
    admin: str = ""
    new_device: bool = False
    reset_identity: bool = False
    yes: bool = False
    """Questions whether to go on are answered with yes."""


class Walk:
    """One walk through it."""

    def __init__(self, settings: Settings, given: Given, *, asks: bool) -> None:
        """`asks`: there is somebody at a terminal."""
        self._settings, self._given, self._asks = settings, given, asks
        self._file: AccountFile = matrix_account(settings)
        self._console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
        self._done: Done | None = None
        self._was_unread = self._file.stamp() is not None and _quiet(self._file.card) is None

    def taken(self) -> Done:
        """Walk it; returns the account.

        Raises:
            HeadwayError: it does not work, and nobody can be asked again.
            typer.Abort: the person leaves.
        """
        prepare_folder(self._settings)
        self._refuse_unusable()
        try:
            homeserver = self._homeserver()
            done, proof = self._login(homeserver)
        except Wait as error:
            raise Wait(f"{cause(error)} Nothing was changed: try it again then.") from error
        self._done = done
        for named, value in done.account.secrets.items():
            KNOWN.learn(named, value)
        self._good(f"Logged in as {done.account.user_id} on the device {done.account.device_id}.")
        self._sign(proof)
        self._call(done)
        self._let_in(done.account)
        self._next(done)
        return done

    @property
    def standing(self) -> str:
        """How it stands, for whoever leaves in the middle."""
        if self._done is None:
            return "Matrix is as it was."
        return (
            f"The bot is logged in as {self._done.account.user_id}; the rest is asked again by "
            f"`{program()} matrix login`."
        )

    def _refuse_unusable(self) -> None:
        if self._given.new_device:
            return
        self._file.read()

    def _homeserver(self) -> str:
        card = _quiet(self._file.card)
        default = self._settings.matrix_homeserver or (card.homeserver if card else "")
        return self._until_good(
            self._given.homeserver,
            lambda: typer.prompt(
                "1 of 4  The bot's homeserver: a name such as example.org, or its URL",
                default=default or None,
            ),
            lambda answer: self._try(f"Looking for {answer}", discover(answer)),
            "--homeserver NAME",
            lambda url: f"{url} is a homeserver.",
        )

    def _login(self, homeserver: str) -> tuple[Done, Proof]:
        given = self._given
        has_password = given.token or self._try(
            "Asking how to log in", _takes_passwords(homeserver)
        )
        if not has_password:
            self._say(
                "That homeserver logs people in on a page of its own. Log the bot in with any client "
                "there, and give the access token of a login that the client does not use."
            )
        first = True
        while True:
            proof = self._proof(by_password=bool(has_password), again=not first)
            first = False
            try:
                if proof.token:
                    proof = self._try("Looking whose token it is", login.named(homeserver, proof))
                self.refuse_other_user(proof)
                return self._try("Logging in", self._logged_in(homeserver, proof)), proof
            except (WrongPassword, *TROUBLES) as error:
                if not self._asks or (given.token or given.password):
                    raise
                self._bad(cause(error))

    async def _logged_in(self, homeserver: str, proof: Proof) -> Done:
        return await login.log_in(
            self._file,
            homeserver,
            proof,
            now=time.time(),
            new_device=self._given.new_device,
            is_first_secret=await is_first_secret(self._settings),
        )

    def _proof(self, *, by_password: bool, again: bool) -> Proof:
        given = self._given
        if given.token:
            KNOWN.learn("matrix_token", given.token)
            return Proof(given.user, token=given.token)
        if not self._asks and not (given.user and given.password):
            raise BadSettings(
                "A login needs --user ID and --password-file FILE, or --token-file FILE: there is no "
                "terminal to ask at."
            )
        if not by_password:
            token = hidden("2 of 4  The access token (not shown): ").strip()
            KNOWN.learn("matrix_token", token)
            return Proof(token=token)
        user = given.user if given.user and not again else self._user()
        password = given.password or hidden(f"        Password of {user} (not shown, not kept): ")
        KNOWN.learn("matrix_password", password)
        return Proof(user, password)

    def _user(self) -> str:
        card = _quiet(self._file.card)
        default = self._settings.matrix_user or (card.user_id if card else "")
        text = "2 of 4  The bot's user there, such as @headway:example.org"
        return str(typer.prompt(text, default=default or None)).strip()

    def refuse_other_user(self, proof: Proof) -> None:
        """Goals that live in rooms of another user would wait for ever: that is asked.

        Raises:
            BadInput: a process is at work as that user, or there is nobody to ask.
            typer.Abort: the answer is no.
        """
        card = _quiet(self._file.card)
        if card is None or not proof.user or is_same(proof.user, card.user_id):
            return
        if _run(ask_owner(self._settings.state_dir, {"do": "ping"})) is not None:
            raise BadInput(
                f"A Headway is at work as {card.user_id}. Stop it before another user takes its place."
            )
        count = _run(live_goals(self._settings, card.user_id))
        told = f"{count} live goals are" if count != 1 else "1 live goal is"
        lost = (
            f" {told} in rooms of {card.user_id}, and will hear and say nothing there."
            if count
            else ""
        )
        self._confirm(f"The bot is {card.user_id} until now.{lost} Take {proof.user} in its place?")

    def _sign(self, proof: Proof) -> None:
        try:
            self._try(
                "Publishing the keys and the identity of the bot",
                login.sign_in(
                    self._file,
                    password=proof.password,
                    approve=self._approved if self._asks else None,
                    reset=self._given.reset_identity,
                ),
            )
        except CryptoStoreBusy:
            self._say("The Headway that runs goes on with the new session, and publishes its keys.")
        except (NotSigned, *TROUBLES) as error:
            self._warn(f"The bot works, and some clients may not talk to it. {error}")
        else:
            self._good(
                "The device is signed: clients that exclude unsigned devices talk to it, too."
            )

    async def _approved(self, address: str) -> None:
        self._say(f"The homeserver wants you to approve this in a browser:\n  {address}")
        await asyncio.to_thread(
            typer.prompt, "Enter, once it is done", default="", show_default=False
        )

    def _call(self, done: Done) -> None:
        name = self._given.name
        if not name and self._asks and done.is_new_device:
            text = "3 of 4  The name that people see (Enter leaves it as it is)"
            name = str(typer.prompt(text, default="", show_default=False)).strip()
        if not name:
            return
        account = done.account

        async def named() -> None:
            async with Homeserver.at(account.homeserver) as server:
                await server.set_name(account.access_token, account.user_id, name)

        try:
            self._try("Setting the name", named())
        except TROUBLES as error:
            self._warn(f"The name is not set. {error}")

    def _let_in(self, account: Account) -> None:
        """Somebody has to be on the list before the bot does anything on Matrix."""
        admin = self._given.admin
        if not admin and self._asks and not has_admin(self._settings):
            text = "4 of 4  Your own Matrix id, to be let in as an admin (Enter: nobody yet)"
            admin = str(typer.prompt(text, default="", show_default=False)).strip()
        if not admin:
            return
        try:
            who = self._person(admin, account)
            request = {"do": "allow.add", "who": who, "role": "admin", "room": None}
            told = asked(self._settings, {**request, "network": "matrix"})
        except HeadwayError as error:
            if not self._asks or self._given.admin:
                raise
            self._bad(cause(error))
            self._let_in(account)
        else:
            self._good(f"{told['who']} may do everything, in all rooms.")

    def _person(self, text: str, account: Account) -> str:
        """The full id of somebody else than the bot, whom the homeserver knows. Raises BadInput."""
        who = full_id(text)
        if who == account.user_id:
            raise BadInput(f"{who} is the bot itself. Give your own id, such as @you:example.org.")

        async def known() -> bool:
            async with Homeserver.at(account.homeserver) as server:
                return await server.knows(account.access_token, who)

        try:
            is_known = self._try(f"Looking for {who}", known())
        except TROUBLES:
            return who
        if not is_known and self._asks and not (self._given.admin or self._given.yes):
            if not typer.confirm(
                f"The homeserver knows no {who}. Is it written so?", default=False
            ):
                raise BadInput("Give the id as it is written in your client.")
        elif not is_known:
            self._warn(f"The homeserver knows no {who}. Let in is whoever has that id.")
        return who

    def _next(self, done: Done) -> None:
        user_id = done.account.user_id
        running = _run(ask_owner(self._settings.state_dir, {"do": "status"}))
        lines = [f"\nNext: invite {user_id} to a room, or begin a direct message with it, and say:"]
        lines += ["  !goal write a haiku about tides into tides.txt"]
        if running is None:
            lines.append(
                f"  {program()} run          works at the goals, and hears what is said there"
            )
        elif self._was_unread or not any(
            one.get("network") == "matrix" for one in running.get("connectors", ())
        ):
            lines.append("The Headway that runs does not know of this account yet: start it again.")
        lines.append(f"  {program()} doctor       tells why the bot is deaf, should it be")
        self._say("\n".join(lines))

    def _until_good(
        self,
        given: str,
        ask: Callable[[], str],
        tried: Callable[[str], T],
        flag: str,
        told: Callable[[T], str],
    ) -> T:
        """The first answer that works; one that was given beforehand is the only one."""
        if not given and not self._asks:
            raise BadSettings(f"There is no terminal to ask at: give {flag}.")
        while True:
            try:
                found = tried(given or ask())
            except TROUBLES as error:
                if given or not self._asks:
                    raise
                self._bad(cause(error))
            else:
                self._good(told(found))
                return found

    def _confirm(self, question: str) -> None:
        if self._given.yes:
            return
        if not self._asks:
            raise BadInput(f"{question} Say so with --yes.")
        if not typer.confirm(question, default=False):
            raise typer.Abort

    def _try(self, doing: str, work: Coroutine[Any, Any, T]) -> T:
        if not self._console.is_interactive:
            return _run(work)
        with self._console.status(f"{escape(doing)} ..."):
            return _run(work)

    def _say(self, text: str) -> None:
        self._console.print(escape(text))

    def _good(self, text: str) -> None:
        self._console.print(f"[green]✓[/] {escape(text)}")

    def _warn(self, text: str) -> None:
        self._console.print(f"[yellow]![/] {escape(text)}")

    def _bad(self, text: str) -> None:
        self._console.print(f"[red]✗[/] {escape(text)}")


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def _takes_passwords(homeserver: str) -> bool:
    async with Homeserver.at(homeserver) as server:
        return BY_PASSWORD in await server.ways_in()


def _quiet(look: Callable[[], T]) -> T | None:
    """What is there, where it can be read: it is a default, and no more."""
    try:
        return look()
    except HeadwayError:
        return None
