"""`openapi`: describes the native API as an OpenAPI 3.1 document, and as a page, from the types of its operations."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import msgspec

from bridle.surfaces.server.native.operation import Operation
from bridle.wire.native_answers import ErrorBody

TEMPLATE = "#/components/schemas/{name}"
NAMES = re.compile(r"\{(\w+)\}")
ERRORS = {
    "400": "A field is wrong; `key` names it.",
    "401": "There is no valid token.",
    "403": "The token, the directory or the origin is not allowed.",
    "404": "There is no such session or path.",
    "409": "The session does not allow this now.",
    "413": "The body is too large.",
    "429": "There are too many requests or streams; see `Retry-After`.",
    "503": "The journal cannot be written, or the server is stopping.",
}
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "code,pre{font:13px/1.5 ui-monospace,monospace}pre{overflow:auto;padding:.5rem 1rem;border-left:3px solid}"
    "h2{margin-top:2rem;font-size:1rem}h2 code{font-weight:600}"
)
PAGE_POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "frame-ancestors 'none'"
)


def openapi(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """Return the OpenAPI description of the operations."""
    kinds: list[Any] = [ErrorBody]
    for operation in operations:
        kinds += [each for each in (operation.query, operation.body, operation.answer) if each is not None]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=TEMPLATE)
    schema_of = {id(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        described = _described(operation, schema_of, components)
        paths.setdefault(operation.address, {})[operation.method.lower()] = described
    used = {name: schema for name, schema in components.items() if not name.endswith("Query")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Bridle",
            "version": version,
            "description": "Sessions of an agent runtime: submit, read and follow.",
        },
        "security": [{"bearer": []}, {"basic": []}],
        "paths": paths,
        "components": {
            "schemas": used,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic", "description": "Any user, the token as password."},
            },
        },
    }


def _described(operation: Operation, schema_of: dict[int, Any], components: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": operation.summary}
    if operation.answer is not None or operation.media != "application/json":
        schema = schema_of[id(operation.answer)] if operation.answer is not None else {"type": "string"}
        answer["content"] = {operation.media: {"schema": schema}}
    error = {"application/json": {"schema": schema_of[id(ErrorBody)]}}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": "Needs no token." if operation.right == "open" else f"Needs the right `{operation.right}`.",
        "parameters": [*_path(operation), *_query(operation, schema_of, components)],
        "responses": {
            str(operation.status): answer,
            **{code: {"description": text, "content": error} for code, text in ERRORS.items()},
        },
    }
    if operation.right == "open":
        described["security"] = []
    if operation.body is not None:
        body = schema_of[id(operation.body)]
        described["requestBody"] = {"content": {"application/json": {"schema": body}}}
    return described


def _path(operation: Operation) -> list[dict[str, Any]]:
    names = NAMES.findall(operation.path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _query(operation: Operation, schema_of: dict[int, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    reference = schema_of[id(operation.query)]["$ref"]
    fields = components[reference.rpartition("/")[2]]["properties"]
    found = [{"name": name, "in": "query", "schema": schema} for name, schema in fields.items()]
    if operation.name in ("follow_session", "follow_record"):
        found.append({"name": "Last-Event-ID", "in": "header", "schema": {"type": "integer"}})
    return found


def reference_page(operations: Sequence[Operation], version: str) -> str:
    """Return a page that lists the operations; it needs no other address."""
    document = openapi(operations, version)
    parts = [f"<!doctype html><html lang=en><meta charset=utf-8><title>Bridle API</title><style>{STYLE}</style>"]
    parts.append(f"<h1>Bridle API {_text(version)}</h1><p>The document: <a href=openapi.json>openapi.json</a></p>")
    for operation in operations:
        parts.append(f"<h2><code>{operation.method} {_text(operation.address)}</code></h2>")
        right = document["paths"][operation.address][operation.method.lower()]["description"]
        parts.append(f"<p>{_text(operation.summary)} {_text(right.replace('`', ''))}</p>")
        for what, kind in (("Parameters", operation.query), ("Body", operation.body)):
            fields = _fields(kind)
            if fields:
                parts.append(f"<p>{what}</p><pre>{_text(fields)}</pre>")
    return "".join([*parts, "</html>"])


def _text(words: str) -> str:
    """Return Bridle's own text, escaped for HTML."""
    return words.replace("&", "&amp;").replace("<", "&lt;")


def _fields(kind: type[msgspec.Struct] | None) -> str:
    if kind is None:
        return ""
    return "\n".join(f"{field.name}: {_words(field.type)}" for field in msgspec.structs.fields(kind))


def _words(kind: Any) -> str:
    words = re.sub(r"Annotated\[([^,]+), msgspec\.Meta\(.*?\)\]", r"\1", str(kind))
    words = kind.__name__ if isinstance(kind, type) else words
    return re.sub(r"\b(typing|bridle[\w.]*)\.", "", words)
