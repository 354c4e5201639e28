"""
The part of Slack that hands out tokens and says whose they are: what local-slack lacks.

`auth.test`, `bots.info`, `apps.connections.open`, `conversations.list`, and `oauth.v2.access` with codes
and refresh tokens that count once, as docs.slack.dev has them. Tests alter its tables while it serves.
"""

import base64
import email.utils
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

CLIENT_ID, CLIENT_KEY = "1111.2222", "the-client-key"
APP = "A01APP"
SCOPES = "chat:write,commands,users:read"
LIVES_S = 43_200


@dataclass
class Holder:
    """Whose a token is."""

    team: str | None = "T01TEST"
    organisation: str | None = None
    bot: str | None = "B0BOT"
    user: str = "U0BOT"
    name: str = "Test Workspace"
    scopes: str = SCOPES
    is_for_organisation: bool = False
    error: str = ""
    """Why Slack does not take it."""


@dataclass
class KeySlack:
    """What it knows, and what it was asked."""

    url: str = ""
    tokens: dict[str, Holder] = field(default_factory=dict)
    app_tokens: dict[str, str] = field(default_factory=dict)
    """Why each is refused; empty where it is not."""
    codes: dict[str, Holder] = field(default_factory=dict)
    refreshes: dict[str, Holder] = field(default_factory=dict)
    rotates: bool = False
    """Whether tokens that are handed out run out."""
    loses: int = 0
    """Answers of oauth.v2.access still to be lost, after it was done."""
    fails: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    """Status and answer of a method that fails."""
    skew_s: float = 0.0
    channels: list[dict[str, Any]] = field(default_factory=list)
    said: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Messages by channel, newest first."""
    asked: list[str] = field(default_factory=list)
    given: int = 0

    @property
    def api_url(self) -> str:
        """As the setting has it."""
        return f"{self.url}/api/"

    def answer(self, method: str, token: str, form: dict[str, str], auth: str) -> dict[str, Any]:
        """What the method says."""
        match method:
            case "oauth.v2.access":
                return self._handed_out(form, auth)
            case "apps.connections.open":
                refused = self.app_tokens.get(token, "invalid_auth")
                if refused:
                    return {"ok": False, "error": refused, "needed": "connections:write"}
                return {"ok": True, "url": "ws://127.0.0.1:1/socket"}
            case _:
                pass
        holder = self.tokens.get(token)
        if not token or holder is None:
            return {"ok": False, "error": "invalid_auth" if token else "not_authed"}
        if holder.error:
            return {"ok": False, "error": holder.error}
        return self._asked(method, holder, form)

    def _asked(self, method: str, holder: Holder, form: dict[str, str]) -> dict[str, Any]:
        match method:
            case "auth.test":
                return {
                    "ok": True,
                    "url": "https://test.slack.example/",
                    "team": holder.name,
                    "team_id": holder.team,
                    "enterprise_id": holder.organisation,
                    "user": "headway",
                    "user_id": holder.user,
                    "bot_id": holder.bot,
                    "is_enterprise_install": holder.is_for_organisation,
                }
            case "bots.info":
                if "users:read" not in holder.scopes:
                    return {"ok": False, "error": "missing_scope", "needed": "users:read"}
                return {"ok": True, "bot": {"id": holder.bot, "app_id": APP}}
            case "users.conversations" | "conversations.list":
                return {"ok": True, "channels": self.channels}
            case "conversations.history":
                return {"ok": True, "messages": self.said.get(form.get("channel", ""), [])}
            case _:
                return {"ok": False, "error": "unknown_method"}

    def _handed_out(self, form: dict[str, str], auth: str) -> dict[str, Any]:
        if auth != f"{CLIENT_ID}:{CLIENT_KEY}":
            return {"ok": False, "error": "bad_client_secret"}
        if form.get("grant_type") == "refresh_token":
            holder = self.refreshes.pop(form.get("refresh_token", ""), None)
            if holder is None:
                return {"ok": False, "error": "invalid_refresh_token"}
        else:
            holder = self.codes.pop(form.get("code", ""), None)
            if holder is None:
                return {"ok": False, "error": "invalid_code"}
        return self.token_of(holder)

    def token_of(self, holder: Holder) -> dict[str, Any]:
        """A new token, as oauth.v2.access hands it out."""
        self.given += 1
        token = f"xoxb-given-token-{self.given}"
        self.tokens[token] = holder
        org = holder.organisation
        said: dict[str, Any] = {
            "ok": True,
            "access_token": token,
            "token_type": "bot",
            "scope": holder.scopes,
            "bot_user_id": holder.user,
            "app_id": APP,
            "team": None
            if holder.is_for_organisation
            else {"id": holder.team, "name": holder.name},
            "enterprise": {"id": org, "name": holder.name} if org else None,
            "authed_user": {"id": "U01ALICE"},
            "is_enterprise_install": holder.is_for_organisation,
        }
        if self.rotates:
            refresh = f"xoxe-1-refresh-{self.given}"
            self.refreshes[refresh] = holder
            said |= {"refresh_token": refresh, "expires_in": LIVES_S}
        return said


@contextmanager
def slack_keys() -> Iterator[KeySlack]:
    """Serve it on a free port."""
    known = KeySlack()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            method = self.path.rpartition("/")[2]
            known.asked.append(method)
            length = int(self.headers.get("Content-Length") or 0)
            form = dict(parse_qsl(self.rfile.read(length).decode()))
            kind, _, word = (self.headers.get("Authorization") or "").partition(" ")
            auth = base64.b64decode(word).decode() if kind == "Basic" else ""
            status, said = known.fails.get(method) or (200, None)
            holder = known.tokens.get(word)
            if said is None:
                said = known.answer(method, word if kind == "Bearer" else "", form, auth)
            if method == "oauth.v2.access" and known.loses > 0:
                known.loses -= 1
                self.close_connection = True
                return
            self._say(status, said, holder.scopes if holder else "")

        def do_GET(self) -> None:
            self._say(404, {"ok": False, "error": "unknown_method"}, "")

        def _say(self, status: int, said: dict[str, Any], scopes: str) -> None:
            body = json.dumps(said).encode()
            with suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("X-OAuth-Scopes", scopes)
                self.end_headers()
                self.wfile.write(body)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return email.utils.formatdate(time.time() + known.skew_s, usegmt=True)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    known.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield known
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()
