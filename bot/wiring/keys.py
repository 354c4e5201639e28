"""The keys of a state folder, and what is sealed under them: secrets in the database, the Matrix account."""

from adapters.keys.sealing import KeySealing
from adapters.keys.source import KeyFile, KeySetting, KeySource
from adapters.matrix.account import AccountFile
from bot.ports.secrets import Named, Sealed
from bot.settings import Settings


class StateSealing(KeySealing):
    """Sealing in a state folder, where the Matrix account is sealed under the same keys."""

    def __init__(self, source: KeySource, matrix: AccountFile) -> None:
        super().__init__(source)
        self._matrix = matrix

    def seal(self, of: Named, value: str, *, is_first: bool = True) -> Sealed:
        """As `Sealing`; it is not the first where there is an account."""
        return super().seal(of, value, is_first=is_first and self._matrix.stamp() is None)

    def drop_keys(self, keep: frozenset[str]) -> None:
        """As `Sealing`, once the account needs them no more."""
        self._matrix.reseal()
        super().drop_keys(keep)


def sealing_of(settings: Settings) -> StateSealing:
    """Sealing under the key that the settings name; reads nothing yet."""
    return StateSealing(key_source(settings), matrix_account(settings))


def matrix_account(settings: Settings) -> AccountFile:
    """The Matrix account of the state folder, whether or not there is one; reads nothing yet."""
    return AccountFile(settings.state_dir / "matrix", KeySealing(key_source(settings)))


def key_source(settings: Settings) -> KeySource:
    """Where the settings say that the keys are."""
    if text := settings.secret_key.get_secret_value():
        return KeySetting(text)
    return KeyFile(settings.key_file, apart_from=settings.state_dir)
