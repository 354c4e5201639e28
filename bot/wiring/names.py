"""What a process and its folders are called on a database that several processes share."""

import socket
from dataclasses import dataclass, field

from adapters.store.open import Store, is_shared
from bot.ports.chat import Network, Place
from bot.settings import Settings
from bot.wiring.charge import Charge
from bot.wiring.folder import identity
from bot.wiring.matrix_account import user_of


@dataclass(frozen=True, slots=True)
class Names:
    """Names are empty where the database is this process's alone."""

    is_shared: bool
    """Several processes may work on the database."""
    console: str = ""
    """Of the state folder: the workspace of its console."""
    home: str = ""
    """Of the folder of workspaces."""
    matrix: str = ""
    """Of the bot on Matrix: its user id, which is its workspace there; empty without an account."""
    slack: bool = False
    """Whether this process may serve Slack: the settings name an app."""
    charge: Charge = field(default_factory=Charge)
    """Whether it does: where others may, too, one at a time."""

    @property
    def worker(self) -> str:
        """What the names of its worker and of its forerunners' begin with."""
        return f"{self.console or socket.gethostname()}."

    @property
    def networks(self) -> frozenset[Network]:
        """Those that this process connects to."""
        named: tuple[tuple[Network, bool], ...] = (
            ("console", True), ("matrix", bool(self.matrix)), ("slack", self.slack),
        )  # fmt: skip
        return frozenset(network for network, is_there in named if is_there)

    def workspace(self, network: Network) -> str:
        """This process's workspace on a network; empty where it has none, or many."""
        match network:
            case "console":
                return self.console
            case "matrix":
                return self.matrix
            case "slack":
                return ""

    def is_ours(self, place: Place) -> bool:
        """Whether this process handles what is said there: who hears an account answers for it."""
        if place.network == "slack":
            return self.slack and self.charge.is_held
        return place.network in self.networks and place.workspace == self.workspace(place.network)


def names_of(settings: Settings) -> Names:
    """The names of this process, kept in its folders.

    Raises:
        BadSettings: they cannot be.
    """
    matrix, slack = user_of(settings), has_slack(settings)
    if not is_shared(settings.database_url):
        return Names(is_shared=False, matrix=matrix, slack=slack, charge=Charge(is_held=slack))
    return Names(
        True, identity(settings.state_dir), identity(settings.workspaces_dir), matrix, slack
    )


def has_slack(settings: Settings) -> bool:
    """Whether the settings name a Slack app: by a bot's token, or as one to be installed."""
    return bool(settings.slack_bot_token.get_secret_value() or settings.slack_client_id)


def half_slack(settings: Settings) -> str:
    """What is missing where something of a Slack app is set, and no app; empty where nothing is."""
    given = [
        name
        for name in ("slack_app_token", "slack_signing_key", "slack_client_key")
        if getattr(settings, name).get_secret_value()
    ]
    if not given or has_slack(settings):
        return ""
    return (
        f"Slack has settings ({', '.join(given)}), and no app: give slack_bot_token, or for installs by "
        "OAuth slack_client_id; or run `headway init`."
    )


async def take_over(store: Store, names: Names) -> None:
    """Free what a former process of the state folder held: this one owns it, so that one is gone."""
    if names.is_shared:
        await store.leases.void(names.worker)
        for network in names.networks - {"slack"}:
            await store.outbox.void(network, names.workspace(network))
