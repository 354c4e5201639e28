"""
The schema of a stranger's tool, made anew of the few words of JSON Schema that every endpoint takes. Pure.

Rule 1: whatever comes in, what goes out is a valid schema of an object, of bounded depth, size and count.
        It guides the model; the server itself checks what it is given.
Rule 2: references are resolved in place, as deep as anything may be; what is deeper may be anything.
Rule 3: patterns are left out: nobody here runs a stranger's regular expression.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from bot.tools.untrusted import bounded

Json = dict[str, Any]

DEEPEST: Final = 8
NODES_MOST: Final = 300
SCHEMA_CHARS: Final = 12_000
WORDS_CHARS: Final = 400
"""Of one description inside."""
KEYS_MOST: Final = 60
CHOICES_MOST: Final = 100
_PROPERTY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""What the Messages API takes as the name of an argument."""
_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems")
_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_FORMATS: Final = frozenset({"date", "date-time", "time", "email", "uri", "uuid", "hostname"})


class Unfit(Exception):
    """A schema that cannot be offered; says why."""


def cleaned(schema: object) -> Json:
    """The schema of a tool's arguments.

    Raises:
        Unfit: it is none of an object, or an argument that it needs cannot be named.
    """
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise Unfit("its arguments are no object")
    given: Json = _Cleaning(schema).whole(schema, 0)
    if len(json.dumps(given)) > SCHEMA_CHARS:
        raise Unfit(f"its schema has more than {SCHEMA_CHARS} characters")
    return {"type": "object", "properties": {}, **given}


class _Cleaning:
    """One schema under work."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._nodes = 0

    def node(self, schema: object, depth: int) -> Json:
        """A schema within the schema."""
        self._nodes += 1
        if depth > DEEPEST or self._nodes > NODES_MOST or not isinstance(schema, dict):
            return {}
        if "$ref" in schema:
            return self.node(self._referred(schema["$ref"]), depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [each for each in kind if each in _TYPES][: len(_TYPES)]
            rest = {key: value for key, value in schema.items() if key != "type"}
            return self._any([{**rest, "type": each} for each in kinds], rest, depth)
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list):
                return self._any(schema[word], schema, depth)
        if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1:
            return self.node({**schema["allOf"][0], **_said(schema)}, depth + 1) if isinstance(
                schema["allOf"][0], dict
            ) else _said(schema)  # fmt: skip
        if kind == "object" or "properties" in schema:
            return self.whole(schema, depth)
        return self._plain(schema, kind if kind in _TYPES else None, depth)

    def whole(self, schema: Json, depth: int) -> Json:
        """The schema of an object."""
        named = schema.get("properties")
        properties: Json = {}
        for name, inner in list(named.items())[:KEYS_MOST] if isinstance(named, dict) else ():
            if isinstance(name, str) and _PROPERTY.fullmatch(name):
                properties[name] = self.node(inner, depth + 1)
        given: Json = {"type": "object", **_said(schema), "properties": properties}
        wanted = schema.get("required")
        required = (
            [one for one in wanted if isinstance(one, str)] if isinstance(wanted, list) else []
        )
        missing = [one for one in required if isinstance(named, dict) and one in named]
        if depth == 0 and any(one not in properties for one in missing):
            raise Unfit("an argument that it needs has a name that cannot be used")
        required = [one for one in dict.fromkeys(required) if one in properties]
        if required:
            given["required"] = required
        if schema.get("additionalProperties") is False:
            given["additionalProperties"] = False
        return given

    def _any(self, schemas: list[Any], around: Mapping[str, Any], depth: int) -> Json:
        inner = [self.node(each, depth + 1) for each in schemas[:10]]
        return {**_said(around), "anyOf": inner} if inner else _said(around)

    def _plain(self, schema: Json, kind: str | None, depth: int) -> Json:
        given: Json = {} if kind is None else {"type": kind}
        given |= _said(schema)
        for word in _COUNTS:
            value = schema.get(word)
            if type(value) is int and 0 <= value < 2**31:
                given[word] = value
        for word in _BOUNDS:
            value = schema.get(word)
            if _is_number(value):
                given[word] = value
        if schema.get("format") in _FORMATS and isinstance(schema.get("format"), str):
            given["format"] = schema["format"]
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(choices, list):
            fit = [each for each in choices if _is_choice(each)][:CHOICES_MOST]
            distinct = list({json.dumps(each): each for each in fit}.values())
            if distinct:
                given["enum"] = distinct
        if kind == "array":
            given["items"] = self.node(schema.get("items", {}), depth + 1)
        return given

    def _referred(self, place: object) -> object:
        if not isinstance(place, str) or not place.startswith("#/"):
            return {}
        found: object = self._root
        for step in place[2:].split("/")[:DEEPEST]:
            word = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or word not in found:
                return {}
            found = found[word]
        return found


def _said(schema: Mapping[str, Any]) -> Json:
    words = schema.get("description")
    return {"description": bounded(words, WORDS_CHARS)} if isinstance(words, str) and words else {}


def _is_choice(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= 200 and value.isprintable()
    return _is_number(value) or isinstance(value, bool) or value is None


def _is_number(value: object) -> bool:
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and math.isfinite(value) and abs(value) < 2**53  # type: ignore[arg-type]
