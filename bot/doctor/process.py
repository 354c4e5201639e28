"""The check of the running Headway: whether one owns the state folder, and answers."""

import asyncio
from typing import Final

from bot.doctor.finding import warning, wrong
from bot.errors import HeadwayError
from bot.settings import Settings
from scheduler.control import SOCKET, ask_owner

ANSWER_S: Final = 4.0


def running(settings: Settings) -> str:
    """Whether a process answers on the control socket; without one, `run` and `chat` start it."""
    path = settings.state_dir / SOCKET
    try:
        if path.exists() and not path.is_socket():
            raise wrong(
                f"{path} is no socket, and Headway's control socket belongs there. Move it away."
            )
        if not path.exists():
            return "none runs here now"
        asked = ask_owner(settings.state_dir, {"do": "ping"}, timeout_s=ANSWER_S)
        answer = asyncio.run(asked)
    except HeadwayError as error:
        if isinstance(error.__cause__, TimeoutError):
            raise _silent() from error
        answer = {}
    except TimeoutError as error:
        raise _silent() from error
    except OSError as error:
        raise wrong(
            f"{path} cannot be spoken to ({error.strerror}). Run this as the user who runs headway."
        ) from error
    if answer is None:
        raise warning(
            f"{path} was left by a process that was killed. Nothing is lost: the next start "
            "takes its place and goes on."
        )
    pid = answer.get("pid")
    return f"running as process {pid}" if pid else "running, and answers"


def _silent() -> Exception:
    return wrong(
        "A Headway owns this state folder and does not answer. Look at its log; if it hangs, "
        "kill it and start it again: nothing is lost."
    )
