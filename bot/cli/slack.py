"""
`headway slack`: the app in Slack workspaces.

Rule: no command shows a token; what is printed for Slack holds none.
"""

import asyncio
import json
import sys
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.owner import answered
from bot.cli.wrapped import wrapped
from bot.errors import BadInput, HeadwayError
from bot.ports.chat import Arrival
from bot.ports.installs import Install
from bot.ports.positions import Position
from bot.settings import Settings
from bot.settings_values import a_command, a_url
from scheduler.control import Request, ask_owner

if TYPE_CHECKING:
    from adapters.slack.manifest import Wanted

app = typer.Typer(no_args_is_help=True, help="Live in Slack: the app's manifest, and its installs.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(
    epilog="[cyan]headway slack manifest[/]    as `deploy/slack-manifest.yaml`, for your settings\n\n"
    "[cyan]headway slack manifest --name Deputy --command deputy --link[/]\n\n"
    "[cyan]headway slack manifest --http --url https://bot.example.org[/]"
)
def manifest(
    context: typer.Context,
    name: Annotated[
        str, typer.Option("--name", help="What people see it called, up to 35 characters.")
    ] = "Headway",
    url: Annotated[
        str | None,
        typer.Option("--url", help="Where the listener is from outside.", show_default=False),
    ] = None,
    command: Annotated[
        str | None, typer.Option("--command", help="Of the slash command.", show_default=False)
    ] = None,
    http: Annotated[
        bool | None,
        typer.Option(
            "--http/--socket", help="How Slack reaches it; by default as set.", show_default=False
        ),
    ] = None,
    rotate: Annotated[
        bool,
        typer.Option("--rotate", help="Tokens run out and are renewed; for installs by OAuth."),
    ] = False,
    link: Annotated[
        bool, typer.Option("--link", help="Print the address that makes an app of it.")
    ] = False,
) -> None:
    """Print the app's manifest, as the settings have the app."""
    from adapters.slack.manifest import as_yaml, create_link
    from bot.wiring.slack_app import manifest_of

    content = manifest_of(_wanted(context.obj.read(), name, url, command, http, rotate))
    sys.stdout.write(create_link(content) + "\n" if link else as_yaml(content))


@app.command(epilog="[cyan]headway slack status[/]    [cyan]headway slack status --json[/]")
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show how Slack reaches it, where the app is installed, and who serves it."""
    from bot.wiring.names import half_slack, has_slack

    settings: Settings = context.obj.settings()
    if not has_slack(settings) and not as_json:
        _say(half_slack(settings) or "Slack is not set up: `headway init` does it.")
        return
    told = asyncio.run(_status(settings))
    if as_json:
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
        return
    _show(told)


@app.command(epilog="[cyan]headway slack forget T01TEST[/]")
def forget(
    context: typer.Context,
    workspace: Annotated[str, typer.Argument(metavar="WORKSPACE", help="As `status` names it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing.")] = False,
) -> None:
    """Erase the tokens of a workspace here. The app itself is removed in Slack."""
    settings: Settings = context.obj.settings()
    if settings.slack_bot_token.get_secret_value():
        raise BadInput(
            "The workspace's token stands in the settings, not in the database: take slack_bot_token out "
            "of them."
        )
    if not yes and not (
        sys.stdin.isatty()
        and typer.confirm(f"Erase the tokens of {workspace}? Goals there will wait", default=False)
    ):
        raise BadInput("Nothing was changed. Say --yes, or answer with yes.")
    request = {"do": "slack.forget", "workspace": workspace}
    told = asyncio.run(answered(settings, request, _alone))
    if not told["erased"]:
        raise BadInput(f"There is no install of {workspace}. See `headway slack status`.")
    _say(
        f"The tokens of {workspace} are erased. Remove the app there, too: an admin of the workspace finds "
        "it under Manage apps."
    )


def _wanted(
    settings: Settings,
    name: str,
    url: str | None,
    command: str | None,
    http: bool | None,
    rotate: bool,
) -> "Wanted":
    from adapters.slack.manifest import NAME_MOST
    from bot.wiring.slack_app import wanted

    try:
        found = replace(
            wanted(settings),
            name=name,
            url=a_url(url) if url is not None else settings.public_url,
            command=a_command(command) if command is not None else settings.slack_command,
            rotates=rotate,
        )
    except ValueError as error:
        raise BadInput(f"That cannot be taken: {error}.") from error
    found = found if http is None else replace(found, is_http=http)
    if not 0 < len(name) <= NAME_MOST or not name.isprintable():
        raise BadInput(f"Slack takes a name of 1 to {NAME_MOST} characters.")
    if found.is_http and not found.url.startswith("https://"):
        raise BadInput(
            "Over HTTP Slack wants to know where: give --url https://bot.example.org, or set public_url."
        )
    if rotate and not found.url:
        raise BadInput("Tokens that run out are for installs by OAuth: give --url, too.")
    return found


async def _status(settings: Settings) -> dict[str, Any]:
    running = await ask_owner(settings.state_dir, {"do": "status"})
    serving = await _served(settings) if running is not None else {}
    rows = (running or {}).get("connectors", ())
    heard: dict[str, Any] = next((one for one in rows if one.get("network") == "slack"), {})
    told: dict[str, Any] = {
        "mode": settings.slack_mode,
        "command": f"/{settings.slack_command}",
        "token": "settings" if settings.slack_bot_token.get_secret_value() else "installs",
        "installs": [],
        "install_at": _install_at(settings),
        "running": running is not None,
        "up": heard.get("up"),
        "serves": bool(serving.get("serves")),
        "trouble": heard.get("trouble") or "",
        "troubles": serving.get("troubles") or {},
        "others": serving.get("others") or 0,
    }
    if told["token"] == "installs":
        from bot.wiring import reading

        async with reading(settings) as store:
            told["installs"] = [
                _row(one, settings) for one in await store.installs.installed("slack")
            ]
    return told


async def _alone(settings: Settings, request: Request) -> dict[str, Any] | None:
    from adapters.clock import WallClock
    from bot.wiring.holding import own_store
    from bot.wiring.slack_desk import SlackDesk

    async with own_store(settings) as store:

        async def receive(*arrivals: Arrival, upto: Position | None = None) -> None:
            await store.inbox.receive_all(arrivals, upto)

        return await SlackDesk(store.installs, receive, WallClock())(request)


async def _served(settings: Settings) -> dict[str, Any]:
    """Whether the process that runs serves the app; nothing of one that does not know it."""
    try:
        return await ask_owner(settings.state_dir, {"do": "slack.status"}) or {}
    except HeadwayError:
        return {}


def _install_at(settings: Settings) -> str:
    is_offered = settings.slack_client_id and settings.public_url
    return f"{settings.public_url.rstrip('/')}/slack/install" if is_offered else ""


def _row(install: Install, settings: Settings) -> dict[str, Any]:
    from adapters.slack.manifest import SCOPES

    asked_for = {scope.name for scope in SCOPES}
    lives_until = install.expires_at
    return {
        "workspace": install.workspace,
        "name": install.name,
        "app": install.app,
        "bot_user": install.bot_user,
        "installed_by": install.installed_by,
        "at": _when(install.at, settings),
        "renewed_before": _when(lives_until, settings) if lives_until is not None else "",
        "scopes": list(install.scopes),
        "missing_scopes": sorted(asked_for - set(install.scopes)) if install.scopes else [],
    }


def _when(at: float, settings: Settings) -> str:
    return datetime.fromtimestamp(at, settings.tz).isoformat(timespec="minutes")


def _show(told: dict[str, Any]) -> None:
    reached = "over a socket" if told["mode"] == "socket" else "over HTTP"
    lines = [f"Slack reaches it {reached}; its command is {told['command']}."]
    if told["token"] == "settings":
        lines.append("One workspace, by slack_bot_token.")
    elif told["install_at"]:
        lines.append(f"Workspaces install it at {told['install_at']}")
    if not told["running"]:
        lines.append("No Headway runs here.")
    elif told["up"] is None:
        lines.append("The Headway that runs does not know of Slack: start it again.")
    elif not told["serves"]:
        lines.append("Another process of the database serves it; this one stands by.")
    else:
        lines.append(
            "It is heard." if told["up"] else f"It is not heard. {told['trouble']}".strip()
        )
    lines += told["troubles"].values()
    if told["others"]:
        lines.append(
            f"Another process has sockets of the app open, too ({told['others']}): each hears a part of "
            "what is said. Stop the other one."
        )
    _say("\n".join(lines))
    if not told["installs"]:
        if told["token"] == "installs":
            _say("It is installed nowhere yet.")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("Workspace", "Name", "Since", "Renewed before", "Lacks")
    for row in told["installs"]:
        lacks = ", ".join(row["missing_scopes"])
        table.add_row(row["workspace"], row["name"], row["at"], row["renewed_before"], lacks)
    Console(highlight=False).print(table)


def _say(text: str) -> None:
    sys.stdout.write(wrapped(text, sys.stdout) + "\n")
