"""A cancellation that must not be lost."""

import asyncio


def heed_cancellation() -> None:
    """Raise a cancellation that was swallowed below, as `asyncio.wait_for` of Python 3.11 may."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
