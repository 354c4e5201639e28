"""
The Matrix account of a state folder, for whoever runs, asks or changes it.

Rule: nothing here loads nio before an account is worked with.
"""

from typing import TYPE_CHECKING, Final

from bot.errors import HeadwayError
from bot.redaction import Redactor
from bot.settings import Settings
from bot.wiring.keys import matrix_account
from bot.wiring.secrets import listed

if TYPE_CHECKING:
    from adapters.matrix.start import First
    from adapters.matrix.ways import Ways

UNREAD: Final = "@unread-account:invalid"
"""Nobody's id. Whoever opens the account by it says what is wrong with the file, for as long as it is."""


def user_of(settings: Settings) -> str:
    """The bot's user id: of the account that is there, else of the settings; empty without both.

    Of an account file that cannot be read it is `UNREAD`, unless the settings say it.
    """
    try:
        card = matrix_account(settings).card()
    except HeadwayError:
        return settings.matrix_user or UNREAD
    if card is not None:
        return card.user_id
    has_way = (
        settings.matrix_password.get_secret_value() or settings.matrix_token.get_secret_value()
    )
    return settings.matrix_user if settings.matrix_homeserver and has_way else ""


def is_set_up(settings: Settings) -> bool:
    """Whether there is an account, good or not, or what makes one."""
    return matrix_account(settings).stamp() is not None or bool(user_of(settings))


def learn_account(redactor: Redactor, settings: Settings) -> None:
    """Teach the redactor the account's tokens, key and seeds, where they open."""
    try:
        account = matrix_account(settings).read()
    except HeadwayError:
        return
    if account is not None:
        for name, value in account.secrets.items():
            redactor.learn(name, value)


def ways_of(settings: Settings, redactor: Redactor) -> "Ways":
    """What the session is renewed by, and what is learned of it."""
    from adapters.matrix.login import SignsAgain
    from adapters.matrix.ways import Ways

    password = settings.matrix_password.get_secret_value()
    signing = SignsAgain(matrix_account(settings), password)
    return Ways(password, learn=redactor.learn, signing=signing)


def first_of(settings: Settings) -> "First":
    """What the settings give for a first login."""
    from adapters.matrix.start import First

    return First(
        settings.matrix_homeserver,
        settings.matrix_user,
        settings.matrix_password.get_secret_value(),
        settings.matrix_token.get_secret_value(),
    )


async def is_first_secret(settings: Settings) -> bool:
    """Whether nothing at all is sealed yet, so that a key may be made."""
    return not await listed(settings)
