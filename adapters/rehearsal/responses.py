"""The HTTP responses of the API: headers, error bodies, request ids."""

import itertools
import secrets

from aiohttp import web

from adapters.rehearsal.script import ERROR_TYPES, Block, Fault
from adapters.rehearsal.wire import dumps


class Responses:
    """Makes responses; every one has a request id, and every id is made once."""

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(4)
        self._serial = itertools.count(1)

    def serial(self) -> str:
        """A part for ids that no other server and no other call has."""
        return f"{self._prefix}{next(self._serial):010d}"

    def json(self, body: object) -> web.Response:
        """A good answer from an object."""
        return self.raw_json(dumps(body).encode())

    def raw_json(self, body: bytes) -> web.Response:
        """A good answer from JSON that is already written."""
        return web.Response(body=body, content_type="application/json", headers=self._identified())

    def garbage(self) -> web.Response:
        """A 200 from something that is not the API, as proxies give it."""
        words = "<html><body>Welcome to the wireless network.</body></html>"
        return web.Response(text=words, content_type="text/html", headers=self._identified())

    def event_stream(self) -> web.StreamResponse:
        """The start of a stream of events."""
        headers = {**self._identified(), "cache-control": "no-cache"}
        headers["content-type"] = "text/event-stream; charset=utf-8"
        return web.StreamResponse(headers=headers)

    def error(
        self,
        status: int,
        kind: str,
        words: str,
        *,
        retry_after: float | None = None,
        details: Block | None = None,
    ) -> web.Response:
        """An error in the API's shape; `retry_after` in seconds goes into the header."""
        headers = self._identified()
        body = {**error_body(kind, words, details), "request_id": headers["request-id"]}
        if retry_after is not None:
            headers["retry-after"] = f"{retry_after:g}"
        return web.Response(
            status=status, text=dumps(body), content_type="application/json", headers=headers
        )

    def fault(self, fault: Fault) -> web.Response:
        """The error that a script asked for."""
        kind, words = worded(fault)
        return self.error(
            fault.status, kind, words, retry_after=fault.retry_after, details=fault.details
        )

    def _identified(self) -> dict[str, str]:
        return {"request-id": f"req_{self.serial()}"}


def worded(fault: Fault) -> tuple[str, str]:
    """The type and the message of a fault's error, by its status where it names none."""
    kind, words = ERROR_TYPES.get(fault.status, ERROR_TYPES[500])
    return fault.error_type or kind, fault.message or words


def error_body(kind: str, words: str, details: Block | None = None) -> Block:
    """The error object, as it stands in a body and in an `error` event."""
    error: Block = {"type": kind, "message": words}
    if details is not None:
        error["details"] = details
    return {"type": "error", "error": error}
