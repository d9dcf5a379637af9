"""`Hooks`: a program's functions around tool calls and model requests (refuse, change, replace), and on events."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic

import msgspec
from typing_extensions import TypeVar

from bridle.errors import ConfigError
from bridle.library.context import Context
from bridle.seams import in_thread
from bridle.tools.function_tools import output_of
from bridle.turn.caller import Caller
from bridle.turn.hook import (
    AfterCall,
    AfterRequest,
    Answer,
    BeforeCall,
    BeforeRequest,
    Change,
    Heard,
    ModelReply,
    Moment,
    NewOutput,
    NewReply,
    Refuse,
)
from bridle.values.argument_kinds import takes
from bridle.values.type_adapter import to_json
from bridle.wire.events import Event

Deps = TypeVar("Deps", contravariant=True, default=object)
Taken = TypeVar("Taken")
Given = TypeVar("Given")
Answered = TypeVar("Answered")
HOOK_SECONDS = 60.0
EVENTS = {"before_call", "after_call", "before_request", "after_request", "on_event"}


@dataclass(frozen=True, slots=True)
class Replace:
    """The answer of a hook: this is the output of the call, or the reply to the request.

    `output` is anything that a tool may return. For a request it is the text of the reply, a `ModelReply`, or an answer
    in the output type of the agent.
    """

    output: Any


CallAnswer = Change | Refuse | Replace | None
"""Before a call: change its arguments, refuse it, replace it by an output, or allow it."""
OtherAnswer = Refuse | Replace | None
"""After a call, and before and after a request."""

Plain = Callable[[Given], Awaitable[Answered] | Answered]
InContext = Callable[[Context[Taken], Given], Awaitable[Answered] | Answered]


@dataclass(frozen=True, kw_only=True)
class Hooks(Generic[Deps]):
    """Functions that an agent calls around its tool calls and its requests, and on every event.

    Each is a function or an async function of the moment, optionally after the `Context`. It returns None to allow,
    or an answer. An exception refuses a call or a request; after a call the model reads its message.
    """

    before_call: Plain[BeforeCall, CallAnswer] | InContext[Deps, BeforeCall, CallAnswer] | None = None
    after_call: Plain[AfterCall, OtherAnswer] | InContext[Deps, AfterCall, OtherAnswer] | None = None
    before_request: Plain[BeforeRequest, OtherAnswer] | InContext[Deps, BeforeRequest, OtherAnswer] | None = None
    after_request: Plain[AfterRequest, OtherAnswer] | InContext[Deps, AfterRequest, OtherAnswer] | None = None
    on_event: Plain[Event, None] | InContext[Deps, Event, None] | None = None
    tool: str = "*"
    """A pattern: the hooks around calls are called only for tools with such a name."""
    seconds: float = HOOK_SECONDS
    """The time that each of them may take. A hook that takes longer refuses."""

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by their events."""
        found = {name: getattr(self, name) for name in EVENTS}
        return {name: function for name, function in found.items() if function is not None}


def checked_hooks(name: str, given: Iterable[Any]) -> tuple[Hooks[Any], ...]:
    """Return the hooks of an agent; raises `ConfigError` for anything that is no hook."""
    found = tuple(given)
    for each in found:
        if not isinstance(each, Hooks):
            raise ConfigError(f"agent {name}: hooks: {each!r} is no Hooks: write Hooks(before_call=…)")
        for event, function in each.functions().items():
            if not callable(function) or not (takes(function, 1) or takes(function, 2)):
                raise ConfigError(f"agent {name}: hooks: {event} takes the moment, optionally after the context")
        if not isinstance(each.tool, str):
            raise ConfigError(f"agent {name}: hooks: tool must be a pattern for names of tools, not {each.tool!r}")
        if not isinstance(each.seconds, (int, float)) or not each.seconds > 0:
            raise ConfigError(f"agent {name}: hooks: seconds must be more than 0, not {each.seconds!r}")
    return found


def functions_of(given: Iterable[Hooks[Any]]) -> list[Callable[..., Any]]:
    """Return all functions of these hooks."""
    return [function for hooks in given for function in hooks.functions().values()]


def function_hooks(given: Iterable[Hooks[Any]], caller: Caller) -> tuple[FunctionHook, ...]:
    """Return the functions of these hooks for one turn."""
    return tuple(
        FunctionHook(event.removeprefix("on_"), function, caller, hooks.tool, hooks.seconds)
        for hooks in given
        for event, function in hooks.functions().items()
    )


@dataclass(frozen=True, slots=True)
class FunctionHook:
    """Implements `Hook` with a function of the program."""

    on: str
    function: Callable[..., Any]
    caller: Caller
    tool: str
    seconds: float

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__name__", self.function))

    async def answer(self, moment: Moment, epoch: int) -> Answer | None:
        given: list[Any] = [moment.public if isinstance(moment, Heard) else moment]
        if not takes(self.function, 1):
            call = moment.call if isinstance(moment, (BeforeCall, AfterCall)) else ""
            given.insert(0, await self.caller.context(call=call, epoch=epoch))
        if inspect.iscoroutinefunction(self.function):
            value = await self.function(*given)
        else:
            # A plain function may block.
            value = await in_thread(lambda: self.function(*given))
            value = await value if isinstance(value, Awaitable) else value
        return None if value is None or isinstance(moment, Heard) else self._answer(moment, value)

    def _answer(self, moment: Moment, value: Any) -> Answer:
        match moment, value:
            case BeforeCall(), Change(arguments):
                return Change(to_json(arguments))
            case AfterCall(), Refuse(text):
                return NewOutput(f"withheld by a hook: {text}", (), failed=True)
            case _, Refuse():
                return value
            case ((BeforeCall() | AfterCall()), Replace(output)):
                made = output_of(output)
                return NewOutput(made.text, made.attached, failed=made.failed)
            case ((BeforeRequest() | AfterRequest()), Replace(output)):
                return NewReply(_reply(output))
        raise TypeError(f"the hook {self.name!r} returned {value!r}, which is no answer {moment.event}")


def _reply(output: Any) -> ModelReply:
    if isinstance(output, ModelReply):
        return output
    return ModelReply(output if isinstance(output, str) else msgspec.json.encode(to_json(output)).decode())
