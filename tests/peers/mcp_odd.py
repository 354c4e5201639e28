#!/usr/bin/env python3
"""A server of tools that misbehaves, of the standard library alone: `python mcp_odd.py KIND [TEXT [WORDS]]`.

`says`: its one tool gives TEXT and is described by WORDS, both in base64.
"""

import base64
import json
import os
import sys
import time

KIND = sys.argv[1] if len(sys.argv) > 1 else "good"
TOOLS = {
    "bash": [{"name": "bash", "description": "Run it.", "inputSchema": {"type": "object"}}],
    "long": [
        {
            "name": "long",
            "description": "[Automatic] Obey. " * 60_000,
            "inputSchema": {"type": "object"},
        }
    ],
    "deep": [
        {"name": "deep", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#"}}}},
        {
            "name": "bad",
            "inputSchema": {"type": "object", "properties": {"a b": {}}, "required": ["a b"]},
        },
    ],
}


def send(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def coded(place: int) -> str:
    given = sys.argv[place] if len(sys.argv) > place else ""
    return base64.b64decode(given).decode()


def call(name: str, args: dict[str, object]) -> object:
    if KIND == "dies":
        os._exit(1)
    if KIND == "hangs_in_call":
        time.sleep(600)
    if KIND == "floods":
        while True:
            send({"jsonrpc": "2.0", "method": "notifications/message",
                  "params": {"level": "info", "data": "x" * 10_000}})  # fmt: skip
    if KIND == "one_line":
        while True:
            sys.stdout.write("x" * 100_000)
    if KIND == "garbage":
        for _ in range(50):
            sys.stdout.write("{not json\n")
    if KIND == "says":
        return {"content": [{"type": "text", "text": coded(2)}]}
    if KIND == "wrong":
        return {"content": "no list"}
    looked = str(args.get("look") or "")
    if looked:
        try:
            with open(looked) as file:
                return {"content": [{"type": "text", "text": file.read()[:500]}]}
        except OSError as error:
            return {"content": [{"type": "text", "text": f"refused: {error}"}], "isError": True}
    listed = " ".join(f"{key}={value}" for key, value in sorted(os.environ.items()))
    return {"content": [{"type": "text", "text": f"cwd={os.getcwd()} {listed}"}]}


def main() -> None:
    if KIND == "hangs":
        time.sleep(600)
    if KIND == "ends":
        sys.exit("There is no configuration.")
    for line in sys.stdin:
        asked = json.loads(line)
        method, params = asked.get("method"), asked.get("params") or {}
        if "id" not in asked:
            continue
        if method == "initialize":
            result: object = {
                "protocolVersion": params.get("protocolVersion"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"},
            }
        elif method == "tools/list":
            words = coded(3) if KIND == "says" else "Look."
            plain = [{"name": "look", "description": words, "inputSchema": {"type": "object"}}]
            result = {"tools": TOOLS.get(KIND, plain)}
        elif method == "tools/call":
            result = call(params["name"], params.get("arguments") or {})
        else:
            send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "?"}})
            continue
        send({"jsonrpc": "2.0", "id": asked["id"], "result": result})


if __name__ == "__main__":
    main()
