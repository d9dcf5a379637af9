"""Hooks: the user's own commands at certain moments of a turn, with JSON on standard input, and their answers."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from bridle.core.events import PartPut, Recorded
from bridle.core.hook import HookEvent, HookSettings
from bridle.core.ids import notice_id
from bridle.core.parts import Call, Notice
from bridle.core.permission import matches
from bridle.core.repair import arguments_of
from bridle.core.states import CallState, Refusal, Refused, Repeat, Running, Waiting
from bridle.process.containment import contain, told
from bridle.process.output_stream import OutputStream
from bridle.seams import in_thread
from bridle.tools.output_buffer import Printed
from bridle.tools.tool import Output
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.authorize import Authority
from bridle.turn.scope import Aborted, Late

LOG = logging.getLogger(__name__)
MOST_SAID = 4_000
HOOK_READS = 20_000
HISTORY = "{history}"


@dataclass(frozen=True, slots=True)
class Said:
    """The outcome of one hook."""

    command: str
    status: int | None
    """None after a timeout."""
    text: str

    @property
    def words(self) -> str:
        if self.status is None:
            return f"the hook {self.command!r} took too long"
        return self.text.strip()[:MOST_SAID] or f"the hook {self.command!r} ended with {self.status}"


async def each_hook(active: ActiveTurn, event: HookEvent, tool: str, more: Mapping[str, Any]) -> AsyncIterator[Said]:
    """Run the hooks for an event in order and yield the outcome of each. None is run after an abort.

    `more` is read again for each of them, so that one hook may see the answer of another.
    """
    for hook in active.setup.hooks:
        if hook.on != event or (tool and not matches(hook.tool, tool)):
            continue
        payload = {
            "event": event,
            "session": active.record.lease.session,
            "turn": active.turn.start.number,
            "directory": str(active.setup.commands.directory),
            **({"tool": tool} if tool else {}),
            **more,
        }
        said = await active.scope.run(_run(active, hook, payload), hook.seconds)
        if isinstance(said, Aborted):
            return
        yield Said(hook.command, None, "") if isinstance(said, Late) else said


async def _run(active: ActiveTurn, hook: HookSettings, payload: Mapping[str, Any]) -> Said:
    setup, project = active.setup, active.setup.commands.directory.resolve()
    command = ["/bin/sh", "-c", hook.command]
    environment: Mapping[str, str] | None = setup.commands.environment
    sandbox, watch = setup.commands.find_sandbox(), None
    if sandbox is not None and hook.sandbox:
        given = setup.commands.environment
        contained = await in_thread(lambda: contain(sandbox, project, project, given, permits=setup.permissions.allows))
        command, environment, watch = [*contained.words, *command], contained.environment, contained.watch
    with tempfile.TemporaryFile() as stdin:
        stdin.write(msgspec.json.encode(payload))
        stdin.seek(0)
        piped = OutputStream(
            command,
            folder=project,
            given=stdin.fileno(),
            environment=environment,
            bounds=setup.commands.bounds,
            watch=watch,
        )
    printed = Printed()
    status = await piped.run(printed.add)
    for line in told(piped.differences(), project).splitlines():
        LOG.warning("hook %s: %s", hook.command, line)
    return Said(hook.command, status, printed.text())


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a `before_call` hook: the call runs with these."""

    arguments: dict[str, Any]


class ReplacedOutput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of an `after_call` hook: the model reads this."""

    output: str


class Instruction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a `before_compaction` hook: another instruction, or text added to its end."""

    instruction: str = ""
    add: str = ""


Answer = TypeVar("Answer", Arguments, ReplacedOutput, Instruction)


async def _answers(
    active: ActiveTurn, event: HookEvent, tool: str, more: Mapping[str, Any], kind: type[Answer]
) -> AsyncIterator[Answer | str]:
    """Run the hooks for an event; yield their answers, and the complaints of those that failed. See `each_hook`."""
    async for said in each_hook(active, event, tool, more):
        answer = answer_of(said, kind) if said.status == 0 else said.words
        if answer is not None:
            yield answer


def answer_of(said: Said, kind: type[Answer]) -> Answer | str | None:
    """Return the answer that a hook printed as JSON, or the error in it; None for any other output."""
    text = said.text.strip()
    fields = kind.__struct_fields__
    if not text.startswith("{"):
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        meant = any(f'"{field}"' in text for field in fields)
        return f"the hook {said.command!r} printed an answer that is no JSON: {error}" if meant else None
    if not any(field in value for field in fields):
        return None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return f"the hook {said.command!r} printed an answer that cannot be used: {error}"


async def ask_hooks(active: ActiveTurn, verdicts: dict[str, CallState]) -> dict[str, str]:
    """Run the hooks before calls, which may refuse calls or change arguments; return changed arguments by call.

    Changed arguments are validated and judged by the rules like those of the model. Hooks that have changed a call are
    not asked again about it, for example after a person has approved the change.
    """
    changed: dict[str, str] = {}
    for id, state in verdicts.items() if active.setup.hooks else ():
        call = active.session.call(id)
        if not isinstance(state, (Running, Waiting)) or isinstance(call.state, Repeat) or call.changed:
            continue
        payload: dict[str, Any] = {"call": id, "arguments": arguments_of(call.arguments)}
        before = payload["arguments"]
        refused = ""
        async for answer in _answers(active, "before_call", call.name, payload, Arguments):
            if isinstance(answer, str):
                refused = answer
            else:
                payload["arguments"] = answer.arguments
        if refused:
            verdicts[id] = Refused(Refusal("hook"), f"not executed: a hook refused it: {refused}")
        elif payload["arguments"] != before:
            changed[id] = msgspec.json.encode(payload["arguments"]).decode()
            verdicts[id] = _judged_again(active, msgspec.structs.replace(call, changed=changed[id]))
    return changed


def _judged_again(active: ActiveTurn, call: Call) -> CallState:
    try:
        active.setup.toolset.tools[call.name].check(arguments_of(call.given))
    except msgspec.ValidationError as error:
        text = f"not executed: a hook changed the arguments, and they do not fit {call.name}: {error}"
        return Refused(Refusal("hook"), text)
    # The approval was for other arguments: all accesses of the new ones are asked for together.
    return Authority(active).permitted(call, ())


def change_notices(active: ActiveTurn, changed: dict[str, str]) -> list[Recorded]:
    """Return the notices about changed arguments for the reader."""
    text = "before_call: a hook changed the arguments of {}"
    names = {id: active.session.call(id).name for id in changed}
    return [PartPut(Notice(notice_id(id, "hook"), "hook", text.format(name))) for id, name in names.items()]


async def after_hooks(active: ActiveTurn, call: Call, output: Output) -> Output:
    """Return an output after the hooks: they may replace it, and their complaints are added for the model."""
    words: list[str] = []
    payload: dict[str, Any] = {"call": call.id, "failed": output.failed, "output": output.text[:HOOK_READS]}
    text = output.text
    async for answer in _answers(active, "after_call", call.name, payload, ReplacedOutput):
        if isinstance(answer, str):
            words.append(f"[a hook says: {answer}]")
        else:
            text = payload["output"] = answer.output
    if text != output.text:
        notice = Notice(notice_id(call.id, "output"), "hook", f"after_call: a hook replaced the output of {call.name}")
        await active.record.append(PartPut(notice))
        # The stored full output is no longer the one that the model reads.
        output = msgspec.structs.replace(output, text=text, stored="", digest="")
    return msgspec.structs.replace(output, text="\n\n".join([output.text, *words])) if words else output


async def compaction_instruction(active: ActiveTurn, cause: str) -> tuple[str, list[str]]:
    """Return the instruction of a compaction as changed by hooks, and notices about the hooks for the reader."""
    template = active.setup.model.prompts["compaction"]
    payload: dict[str, Any] = {"cause": cause, "instruction": template}
    notices: list[str] = []
    async for answer in _answers(active, "before_compaction", "", payload, Instruction):
        if isinstance(answer, str):
            notices.append(answer)
        else:
            words = answer.instruction or payload["instruction"]
            words = words if HISTORY in words else f"{words}\n\n{HISTORY}"
            payload["instruction"] = f"{words}\n\n{answer.add}" if answer.add else words
    if payload["instruction"] != template:
        notices.append("a hook changed the instruction")
    return payload["instruction"], notices
