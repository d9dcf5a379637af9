"""Asks model servers on this machine (Ollama, LM Studio, llama.cpp, vLLM) for their models and context windows."""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import urlsplit

import msgspec

from bridle.model.server_json import inner
from bridle.seams import SystemClock

PROBE_SECONDS = 0.4
LEAST_WINDOW, MOST_WINDOW = 256, 20_000_000
MOST_BYTES = 4 * 1024 * 1024
MOST_MODELS = 1_000
SERVERS = ("ollama", "lmstudio", "llamacpp", "vllm")


class LocalServer(msgspec.Struct, frozen=True):
    """A local server that answers, and its models."""

    provider: str
    address: str
    models: tuple[str, ...]


def probe(provider: str, address: str) -> LocalServer | None:
    """Ask one address for its models; None without an answer in time. Short, and only done if no model is set."""
    status, body = ask(address, "/models")
    data = body.get("data") if isinstance(body, dict) else None
    if status != 200 or not isinstance(data, list):
        return None
    names = [item["id"] for item in data if isinstance(item, dict) and isinstance(item.get("id"), str)]
    chat = tuple(name for name in names[:MOST_MODELS] if name and name.isprintable() and "embed" not in name.lower())
    return LocalServer(provider, address, chat) if chat else None


def window(provider: str, address: str, model: str) -> int | None:
    """Return the context window that a server reports for a model; None if it reports none."""
    root = address.removesuffix("/v1")
    found: Any
    if provider == "llamacpp":
        found = inner(ask(root, "/props")[1], "default_generation_settings").get("n_ctx")
    elif provider == "lmstudio":
        found = _item(ask(root, "/api/v0/models")[1], "data", "id", model).get("loaded_context_length")
    elif provider == "ollama":
        found = _item(ask(root, "/api/ps")[1], "models", "name", model).get("context_length")
    else:
        found = _item(ask(address, "/models")[1], "data", "id", model).get("max_model_len")
    believable = isinstance(found, int) and not isinstance(found, bool) and LEAST_WINDOW <= found <= MOST_WINDOW
    return found if believable else None


def ask(address: str, path: str) -> tuple[int, Any]:
    """Send a GET request; status 0 if it fails. The timeout holds even if the server sends slowly."""
    where = urlsplit(address)
    host, port = where.hostname or "127.0.0.1", where.port or 80
    clock = SystemClock()
    ends = clock.monotonic() + PROBE_SECONDS
    said = bytearray()
    try:
        with socket.create_connection((host, port), timeout=PROBE_SECONDS) as connection:
            connection.sendall(_request(f"{where.path.rstrip('/')}{path}", f"{host}:{port}"))
            while (left := ends - clock.monotonic()) > 0 and len(said) <= MOST_BYTES:
                connection.settimeout(left)
                piece = connection.recv(65_536)
                if not piece:
                    return _read(bytes(said))
                said += piece
    except (OSError, ValueError, RecursionError):
        # No server, a timeout, or no HTTP.
        return 0, None
    return 0, None


def _request(path: str, host: str) -> bytes:
    # In HTTP/1.0 a response is not chunked and ends with the connection.
    return f"GET {path} HTTP/1.0\r\nhost: {host}\r\naccept: application/json\r\n\r\n".encode("ascii")


def _read(said: bytes) -> tuple[int, Any]:
    head, _, body = said.partition(b"\r\n\r\n")
    status = int(head.split(None, 2)[1]) if head.startswith(b"HTTP/") and len(head.split(None, 2)) > 1 else 0
    try:
        return status, msgspec.json.decode(body)
    except msgspec.DecodeError:
        return status, None


def _item(body: Any, key: str, by: str, name: str) -> dict[str, Any]:
    items = body.get(key) if isinstance(body, dict) else None
    found = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return next((item for item in found if item.get(by) == name), {})
