"""The check of the listeners: whether their addresses can be had, unless the process has them."""

import errno
import socket
from pathlib import Path

from adapters.telemetry.listener import Address
from bot.doctor.finding import wrong
from bot.settings import Settings
from scheduler.control import SOCKET


def free(settings: Settings) -> str:
    """Whether `private_listen` and `public_listen` can be bound; a port that is taken is named."""
    named = {
        name: text
        for name in ("private_listen", "public_listen")
        if (text := getattr(settings, name))
    }
    if not named:
        return "none (private_listen serves health and metrics)"
    if (settings.state_dir / SOCKET).is_socket() and _is_held(settings):
        return f"{', '.join(named.values())}, of the process that runs"
    for name, text in named.items():
        _try(name, text)
    return f"{', '.join(named.values())}: free"


def _is_held(settings: Settings) -> bool:
    """Whether the process of this state folder says where it listens."""
    return any((settings.state_dir / f"{name}.addr").exists() for name in ("private", "public"))


def _try(name: str, text: str) -> None:
    at = Address.of(text)
    try:
        if at.path:
            if not Path(at.path).parent.is_dir():
                raise wrong(f"{name} is {text}, and that folder is not there. Make it.")
            return
        kind = socket.AF_INET6 if ":" in at.host else socket.AF_INET
        with socket.socket(kind) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((at.host, at.port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise wrong(
                f"{name} is {text}, and another program listens there. End it, or name another port."
            ) from error
        raise wrong(
            f"{name} is {text}, which cannot be bound ({error.strerror}). Name an address of this "
            "machine, and a port above 1023."
        ) from error
