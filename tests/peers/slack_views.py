"""Windows and homes: `views.*`, with triggers that work once and for three seconds, and stacks by person."""

import time
from typing import TYPE_CHECKING, Any

from tests.peers.localslack import Install
from tests.peers.slack_mirror import for_page
from tests.peers.slack_pages import Json, error
from tests.peers.slack_world import STACK

if TYPE_CHECKING:
    from tests.peers.slack_core import Core

VIEW_SIZE = 250_000


async def opened(front: "Core", install: Install, args: Json) -> Json:
    """views.open: closes what was open."""
    return await _shown(front, install, args, push=False)


async def pushed(front: "Core", install: Install, args: Json) -> Json:
    """views.push: at most three, one above the other."""
    return await _shown(front, install, args, push=True)


async def renewed(front: "Core", install: Install, args: Json) -> Json:
    """views.update: of one that is open; the id stays."""
    wanted = args.get("view_id") or args.get("external_id")
    for user, stack in front.world.stacks.items():
        for at, view in enumerate(stack):
            if wanted in (view["id"], view.get("external_id")):
                if args.get("hash") and args["hash"] != view["hash"]:
                    return error("hash_conflict")
                made = _made(front, install, args["view"], view["id"], stack[0]["id"])
                stack[at] = made
                await _pass_on(front, install, "views.update", made, view, user)
                return {"ok": True, "view": made}
    return error("not_found")


async def published(front: "Core", install: Install, args: Json) -> Json:
    """views.publish."""
    user = args.get("user_id", "")
    if not front.is_person(user):
        return error("user_not_found")
    before = front.world.homes.get((install.bot, user))
    if before is not None and args.get("hash") and args["hash"] != before["hash"]:
        return error("hash_conflict")
    id = before["id"] if before is not None else front.world.fresh("V")
    view = _made(front, install, args["view"], id, id)
    front.world.homes[install.bot, user] = view
    shown = for_page(args["view"], front.channel_names())
    await front.pass_on("views.publish", install, {"user_id": user, "view": shown})
    return {"ok": True, "view": view}


def after_submission(front: "Core", install: Install, user: str, answer: Any) -> None:
    """What the answer to a submission does to the person's windows."""
    stack = front.world.stacks.get(user, [])
    action = answer.get("response_action") if isinstance(answer, dict) else None
    if action == "errors" or not stack:
        return
    if action in ("update", "push") and isinstance(answer.get("view"), dict):
        id = stack[-1]["id"] if action == "update" else front.world.fresh("V")
        made = _made(front, install, answer["view"], id, stack[0]["id"])
        if action == "update":
            stack[-1] = made
        else:
            stack.append(made)
    elif action == "clear":
        stack.clear()
    else:
        stack.pop()


async def _shown(front: "Core", install: Install, args: Json, *, push: bool) -> Json:
    trigger, why = front.world.take(str(args.get("trigger_id", "")))
    if trigger is None:
        return error(why)
    if len(str(args["view"])) > VIEW_SIZE:
        return error("view_too_large")
    stack = front.world.stacks.setdefault(trigger.user, [])
    if push and len(stack) >= STACK:
        return error("push_limit_reached")
    if not push:
        stack.clear()
    id = front.world.fresh("V")
    made = _made(front, install, args["view"], id, stack[0]["id"] if stack else id)
    made["previous_view_id"] = stack[-1]["id"] if stack else None
    stack.append(made)
    await _pass_on(front, install, "views.push" if push else "views.open", made, None, "")
    return {"ok": True, "view": made}


def _made(front: "Core", install: Install, view: Json, id: str, root: str) -> Json:
    return {
        "callback_id": "", "private_metadata": "", "external_id": "", "clear_on_close": False,
        "notify_on_close": False, "submit": None, "close": None, "previous_view_id": None,
        **view, "id": id, "team_id": install.team, "app_id": install.app,
        "app_installed_team_id": install.team, "bot_id": install.bot_id, "root_view_id": root,
        "hash": f"{time.time():.3f}.{front.world.fresh('h')}", "state": {"values": {}},
    }  # fmt: skip


async def _pass_on(
    front: "Core", install: Install, method: str, made: Json, before: Json | None, user: str
) -> None:
    """Show it on local-slack's page, which gives a view a new id each time."""
    kept = {k: v for k, v in made.items() if v is not None}
    wish: Json = {"view": for_page(kept, front.channel_names())}
    if before is None:
        wish["trigger_id"] = await front.standing_trigger()
    else:
        known = [theirs for theirs, ours in front.world.views.items() if ours == before["id"]]
        wish["view_id"] = known[-1] if known else before["id"]
    answer = await front.pass_on(method, install, wish)
    if answer.get("ok"):
        front.world.views[answer["view"]["id"]] = made["id"]
