"""The front's listener: Web API, sockets of the bot, the page, answers by `response_url`, files, OAuth."""

import asyncio
import base64
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode

import aiohttp
from aiohttp import web

from tests.peers.localslack import Install
from tests.peers.slack_faults import Call, Cut, Failed, Fault, Limited, Page, Slow
from tests.peers.slack_methods import METHODS
from tests.peers.slack_mirror import for_page
from tests.peers.slack_pages import Json, error
from tests.peers.slack_schemas import faults_of_answer, faults_of_call
from tests.peers.slack_tokens import lacking, scopes_of
from tests.peers.slack_world import WAY_BACK_USES

if TYPE_CHECKING:
    from tests.peers.slack_core import Core

PAGE: Final = (
    "<!DOCTYPE html>\n<html><head><title>{0}</title></head>\n<body><h1>{0}</h1>"
    "<p>Server Error</p></body></html>\n"
)
SIGN_IN: Final = "<!DOCTYPE html>\n<html><head><title>Sign in | Slack</title></head></html>\n"
_HOP_BY_HOP: Final = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}
_JSON: Final = {
    "blocks", "attachments", "metadata", "view", "files", "prompts", "loading_messages", "chunks",
}  # fmt: skip
_NUMBERS: Final = {"limit", "length"}
_TRUTHS: Final = {
    "include_all_metadata", "inclusive", "exclude_archived", "include_users", "include_count",
    "include_disabled", "unfurl_links", "unfurl_media", "mrkdwn", "reply_broadcast", "as_user",
    "include_locale", "link_names", "full", "return_im", "include_num_members", "replace_original",
    "prevent_creation", "highlight_text",
}  # fmt: skip


class Handlers:
    """Serves the front."""

    def __init__(self, front: "Core", session: aiohttp.ClientSession) -> None:
        self._front, self._session = front, session
        self._tickets: dict[str, str] = {}

    def route(self, app: web.Application) -> None:
        """Say which path is whose."""
        app.router.add_route("*", "/api/{method}", self._api)
        app.router.add_get("/link/{ticket}", self._link)
        app.router.add_post("/hooks/{id}", self._way_back)
        app.router.add_get("/ui", self._page)
        app.router.add_get("/oauth/v2/authorize", self._authorize)
        app.router.add_route("*", "/{path:.*}", self._through)

    async def _api(self, request: web.Request) -> web.StreamResponse:
        front = self._front
        if front.is_down:
            return _cut(request)
        method = request.match_info["method"]
        token, args = await _arguments(request)
        fault = front.faults.choose(method)
        if fault is None and front.is_limited:
            fault = self._above(method, token, args)
        call = Call(method, args, token, time.monotonic(), fault)
        self._note(call, "request")
        early = _instead(request, fault)
        if early is not None:
            status = 0 if isinstance(fault, Cut) else early.status
            self._note(replace(call, status=status), "answered")
            return early
        answer = await self._answer(method, token, args)
        call = replace(call, status=200, answer=answer)
        self._note(call, "done")
        given = await _given(request, fault, self._response(token, answer))
        lost = isinstance(fault, Cut | Page) or (isinstance(fault, Failed) and fault.passes)
        self._note(replace(call, status=0) if lost else call, "answered")
        return given

    def _above(self, method: str, token: str, args: Json) -> Limited | None:
        """429, where a call is above its tier."""
        install = self._front.world.tokens.get(token)
        team, channel = install.team if install else "", str(args.get("channel", ""))
        wait_s = self._front.tiers.wait_s(method, team, channel, time.monotonic())
        return Limited(wait_s) if wait_s else None

    async def _answer(self, method: str, token: str, args: Json) -> Json:
        """Slack's answer to a call."""
        front = self._front
        if method == "apps.connections.open":
            return self._ticket(token)
        if method not in METHODS:
            return error("unknown_method", req_method=method)
        install: Install | None
        if method == "oauth.v2.access":
            args = {"client_id": "", "client_secret": "", **args}
            wrong = faults_of_call(method, args)
            install = front.install
        else:
            why, install = self._owner(token)
            if why:
                return error(why)
            if (refused := lacking(front.world, token, method)) is not None:
                return refused
            wrong = faults_of_call(method, args)
        assert install is not None
        front.violations += wrong
        if wrong:
            return error(_named(wrong))
        answer = await METHODS[method](front, install, args)
        answer = front.ours(answer)
        if answer.get("ok"):
            front.violations += faults_of_answer(method, answer)
        return answer

    def _owner(self, token: str) -> tuple[str, Install | None]:
        front = self._front
        if not token:
            return "not_authed", None
        if token in front.world.revoked:
            return "token_revoked", None
        if token in front.expired:
            return "token_expired", None
        if token in front.world.app_tokens:
            return "not_allowed_token_type", None
        install = front.world.tokens.get(token)
        return ("", install) if install is not None else ("invalid_auth", None)

    def _ticket(self, token: str) -> Json:
        front = self._front
        if token not in front.world.app_tokens:
            kind = "not_allowed_token_type" if token in front.world.tokens else "invalid_auth"
            return error(kind)
        ticket = front.world.fresh("ticket")
        self._tickets[ticket] = token
        return {"ok": True, "url": f"ws://127.0.0.1:{front.port}/link/{ticket}"}

    def _response(self, token: str, answer: Json) -> web.Response:
        scopes = ",".join(sorted(scopes_of(self._front.world, token)))
        headers = {"X-OAuth-Scopes": scopes, "X-Slack-Req-Id": self._front.world.fresh("req")}
        return web.json_response(answer, headers=headers)

    async def _link(self, request: web.Request) -> web.StreamResponse:
        if self._front.is_down:
            return _cut(request)
        if self._tickets.pop(request.match_info["ticket"], None) is None:
            return web.Response(status=403, text="This address was used.")
        return await self._front.sockets.serve(request)

    async def _way_back(self, request: web.Request) -> web.StreamResponse:
        """An answer by `response_url`: five times in half an hour."""
        front = self._front
        if front.is_down:
            return _cut(request)
        way = front.world.ways.get(request.match_info["id"])
        said: Json = await request.json()
        fault = front.faults.choose("response_url")
        call = Call("response_url", said, "", time.monotonic(), fault)
        self._note(call, "request")
        early = _instead(request, fault)
        if early is not None:
            self._note(replace(call, status=early.status), "answered")
            return early
        if way is None or time.monotonic() > way.until:
            answer = web.json_response(error("expired_url"), status=404)
        elif way.uses >= WAY_BACK_USES:
            answer = web.json_response(error("used_url"), status=404)
        else:
            way.uses += 1
            await self._said_back(said, way)
            answer = web.Response(text="ok")
        self._note(replace(call, status=answer.status, answer={"ok": answer.status == 200}), "done")
        given = await _given(request, fault, answer)
        self._note(replace(call, status=answer.status, answer={"ok": answer.status == 200}),
                   "answered")  # fmt: skip
        return given

    async def _said_back(self, said: Json, way: Any) -> None:
        front = self._front
        checked = {"channel": way.channel, **{
            name: said[name] for name in ("text", "blocks", "thread_ts") if said.get(name)
        }}  # fmt: skip
        original = bool(way.message_ts) and front.mirror.get(way.channel, way.message_ts)
        if said.get("delete_original"):
            if original:
                wish = {"channel": way.channel, "ts": way.message_ts}
                await front.pass_on("chat.delete", way.install, wish)
                front.mirror.drop(way.channel, way.message_ts)
            return
        front.violations += [f"response_url, {each}" for each in
                             faults_of_call("chat.postMessage", checked)]  # fmt: skip
        if said.get("replace_original") and original:
            wish = {**checked, "ts": way.message_ts, "text": checked.get("text", "")}
            await front.pass_on("chat.update", way.install, wish)
            return
        await front.show(way.install, {**checked, "response_type": said.get("response_type")},
                         way.user)  # fmt: skip

    async def _page(self, request: web.Request) -> web.WebSocketResponse:
        """The page's socket; blocks that it cannot draw come as such that it can."""
        theirs = web.WebSocketResponse(max_msg_size=0)
        await theirs.prepare(request)
        url = f"{self._front.server.url}/ui"
        channels = self._front.channel_names()
        async with self._session.ws_connect(url, max_msg_size=0) as ours:

            async def down() -> None:
                async for frame in ours:
                    if frame.type is aiohttp.WSMsgType.TEXT:
                        shown = for_page(self._front.ours(json.loads(frame.data)), channels)
                        await theirs.send_str(json.dumps(shown))

            pump = asyncio.create_task(down())
            try:
                async for frame in theirs:
                    if frame.type is aiohttp.WSMsgType.TEXT:
                        await ours.send_str(frame.data)
            finally:
                pump.cancel()
                with suppress(asyncio.CancelledError, ConnectionError):
                    await pump
        return theirs

    async def _authorize(self, request: web.Request) -> web.Response:
        """Somebody allows the app at once."""
        code = self._front.code(self._front.offered)
        query = urlencode({"code": code, "state": request.query.get("state", "")})
        target = request.query.get("redirect_uri", "")
        return web.Response(status=302, headers={"Location": f"{target}?{query}"})

    async def _through(self, request: web.Request) -> web.StreamResponse:
        """Files and the page itself."""
        front = self._front
        if front.is_down:
            return _cut(request)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP_BY_HOP}
        kind = "upload" if request.path.startswith("/upload/") else "download"
        is_file = request.path.startswith(("/upload/", "/files-pri/"))
        fault = front.faults.choose(kind) if is_file else None
        if request.path.startswith("/files-pri/"):
            token = headers.pop("Authorization", "").removeprefix("Bearer ")
            why, install = self._owner(token)
            if why or install is None:
                return web.Response(text=SIGN_IN, content_type="text/html")
            headers["Authorization"] = f"Bearer {install.bot_token}"
        early = _instead(request, fault)
        if early is not None:
            return early
        body = await request.read()
        async with self._session.request(
            request.method, front.server.url + request.raw_path, data=body or None,
            headers=headers, allow_redirects=False,
        ) as answer:  # fmt: skip
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in _HOP_BY_HOP
                    and k.lower() != "content-encoding"}  # fmt: skip
            passed = web.Response(status=answer.status, body=await answer.read(), headers=kept)
        return await _given(request, fault, passed)

    def _note(self, call: Call, moment: Any) -> None:
        if moment == "answered":
            self._front.calls.append(call)
        if self._front.watcher is not None:
            self._front.watcher(moment, call)


async def _arguments(request: web.Request) -> tuple[str, Json]:
    """The token and the arguments of a call, in their own types."""
    args: Json = dict(request.query)
    kind = request.content_type
    if kind == "application/json":
        body = await request.text()
        args |= json.loads(body) if body else {}
    elif kind == "multipart/form-data":
        args |= {name: str(value) for name, value in (await request.post()).items()}
    else:
        args |= dict(parse_qsl(await request.text(), keep_blank_values=True))
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    token = credentials if scheme == "Bearer" else ""
    token = token or str(args.pop("token", "") or "")
    args.pop("token", None)
    if scheme == "Basic":
        id, _, secret = base64.b64decode(credentials).decode().partition(":")
        args |= {"client_id": id, "client_secret": secret}
    return token, _typed(args)


def _typed(args: Mapping[str, Any]) -> Json:
    typed: Json = {}
    for name, value in args.items():
        typed[name] = value
        if not isinstance(value, str):
            continue
        if name in _JSON:
            with suppress(ValueError):
                typed[name] = json.loads(value)
        elif name in _NUMBERS and value.isdigit():
            typed[name] = int(value)
        elif name in _TRUTHS and value.lower() in ("0", "1", "true", "false"):
            typed[name] = value.lower() in ("1", "true")
    return typed


def _named(wrong: list[str]) -> str:
    """Slack's error for what is wrong with a call."""
    text = "\n".join(wrong)
    for code in ("msg_blocks_too_long", "msg_too_long"):
        if code in text:
            return code
    if "no text for notifications" in text:
        return "no_text"
    if "in blocks, " in text or "in view, " in text:
        return "invalid_blocks"
    return "invalid_arguments"


def _instead(request: web.Request, fault: Fault | None) -> web.Response | None:
    """What is answered without doing anything."""
    match fault:
        case Limited(after):
            headers = {} if after is None else {"Retry-After": str(after)}
            return web.json_response(error("ratelimited"), status=429, headers=headers)
        case Page(status, False):
            return _html(status)
        case Cut("before"):
            return _cut(request)
        case Failed(code, status, False, further):
            return web.json_response(error(code, **dict(further)), status=status)
        case _:
            return None


async def _given(
    request: web.Request, fault: Fault | None, answer: web.Response
) -> web.StreamResponse:
    """Give an answer that is there, or spoil it."""
    match fault:
        case Page(status):
            return _html(status)
        case Failed(code, status, True, further):
            return web.json_response(error(code, **dict(further)), status=status)
        case Cut("after"):
            return _cut(request)
        case Cut("middle"):
            return await _half(request, answer)
        case Slow(seconds):
            await asyncio.sleep(seconds)
            return answer
        case _:
            return answer


async def _half(request: web.Request, answer: web.Response) -> web.StreamResponse:
    whole = answer.body if isinstance(answer.body, bytes) else b""
    half = web.StreamResponse(status=answer.status, headers=answer.headers)
    half.content_length = len(whole)
    with suppress(ConnectionError):
        await half.prepare(request)
        await half.write(whole[: len(whole) // 2])
        await asyncio.sleep(0.01)
    _cut(request)
    return half


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=499)


def _html(status: int) -> web.Response:
    return web.Response(status=status, text=PAGE.format(status), content_type="text/html")
