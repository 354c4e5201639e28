"""`python -m adapters.rehearsal`: the server in a process of its own.

Prints one JSON line, `{"port": .., "pid": ..}`, when it is ready, and serves until SIGTERM,
SIGINT, or the end of its standard input if `--until-eof` is given.
"""

import argparse
import asyncio
import json
import os
import signal
import sys

from adapters.rehearsal.control import add_routes
from adapters.rehearsal.delivery import Pace
from adapters.rehearsal.loading import ScriptInvalid, load
from adapters.rehearsal.server import Options, Rehearsal, serving


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and serve; 2 if the script or the port cannot be used."""
    given = _parser().parse_args(arguments)
    try:
        asyncio.run(serve(given))
    except ScriptInvalid as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"port {given.port} cannot be had ({error}); --port 0 takes a free one\n")
        return 2
    return 0


async def serve(given: argparse.Namespace) -> None:
    """Serve until told to stop."""
    pace = Pace(given.deltas, given.duration, given.tick)
    models = tuple(name for name in (given.models or "").split(",") if name)
    options = Options(tuple(given.key or ()), models, pace, given.context_window)
    rehearsal = Rehearsal(load(given.script), options)
    app = rehearsal.app()
    if given.control:
        add_routes(app, rehearsal)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopped.set)
    if given.until_eof:
        loop.add_reader(sys.stdin.fileno(), _at_eof, stopped)
    async with serving(app, port=given.port) as port:
        sys.stdout.write(json.dumps({"port": port, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        await stopped.wait()
        rehearsal.delivery.release()


def _at_eof(stopped: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        stopped.set()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m adapters.rehearsal", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", default="adapters.rehearsal.demo:script")
    parser.add_argument("--key", action="append", help="a key to accept; without any, all are")
    parser.add_argument("--models", help="the models there are, comma-separated; default: any")
    parser.add_argument("--control", action="store_true", help="serve /control")
    parser.add_argument("--deltas", type=int, help="content deltas in each reply")
    parser.add_argument("--duration", type=float, default=0.0, help="seconds for each reply")
    parser.add_argument("--tick", type=float, default=0.04, help="least seconds between writes")
    parser.add_argument("--context-window", type=int, default=1_000_000)
    parser.add_argument("--until-eof", action="store_true", help="stop when stdin ends")
    return parser


if __name__ == "__main__":
    sys.exit(main())
