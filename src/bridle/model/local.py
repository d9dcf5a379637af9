"""Servers on this machine: who listens on loopback, which models they have, and how much they hold."""

from __future__ import annotations

import http.client
from typing import Any
from urllib.parse import urlsplit

import msgspec

PROBE_SECONDS = 0.4
SERVERS = ("ollama", "lmstudio", "llamacpp", "vllm")


class Found(msgspec.Struct, frozen=True):
    """A server that answers, and its models."""

    provider: str
    address: str
    models: tuple[str, ...]


def probe(provider: str, address: str) -> Found | None:
    """Ask one address for its models; None if nobody is there in time. Short, and done only where nothing is set."""
    status, body = ask(address, "/models")
    data = body.get("data") if isinstance(body, dict) else None
    if status != 200 or not isinstance(data, list):
        return None
    names = [item["id"] for item in data if isinstance(item, dict) and isinstance(item.get("id"), str)]
    chat = tuple(name for name in names if "embed" not in name.lower())
    return Found(provider, address, chat) if chat else None


def window(provider: str, address: str, model: str) -> int | None:
    """How many tokens a server holds for a model, where it says so."""
    root = address.removesuffix("/v1")
    match provider:
        case "vllm":
            found = _item(ask(address, "/models")[1], "data", "id", model).get("max_model_len")
        case "llamacpp":
            settings = _object(ask(root, "/props")[1]).get("default_generation_settings")
            found = _object(settings).get("n_ctx")
        case "lmstudio":
            listed = _item(ask(root, "/api/v0/models")[1], "data", "id", model)
            found = listed.get("loaded_context_length")
        case "ollama":
            found = _item(ask(root, "/api/ps")[1], "models", "name", model).get("context_length")
        case other:
            found = _item(ask(address, "/models")[1], "data", "id", model).get("max_model_len") if other else None
    return found if isinstance(found, int) and found > 0 else None


def ask(address: str, path: str) -> tuple[int, Any]:
    """One plain GET; status 0 if it came to nothing."""
    where = urlsplit(address)
    connection = http.client.HTTPConnection(where.hostname or "127.0.0.1", where.port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", f"{where.path.rstrip('/')}{path}")
        response = connection.getresponse()
        return response.status, msgspec.json.decode(response.read(4 * 1024 * 1024))
    except (OSError, http.client.HTTPException, msgspec.DecodeError):
        return 0, None
    finally:
        connection.close()


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _item(body: Any, key: str, by: str, name: str) -> dict[str, Any]:
    items = _object(body).get(key)
    found = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return next((item for item in found if item.get(by) == name), {})
