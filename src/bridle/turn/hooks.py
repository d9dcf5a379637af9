"""Asks a turn's hooks in order and applies their answers to calls and compactions; `request_hooks` to requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping

import msgspec
from msgspec.structs import replace

from bridle.core.events import PartPut, Recorded
from bridle.core.ids import notice_id
from bridle.core.parts import Call, Notice
from bridle.core.permission import matches
from bridle.core.repair import arguments_of, result_digest
from bridle.core.states import CallState, Done, Failed, Refusal, Refused, Repeat, Running, Waiting
from bridle.errors import ConfigError, text_of
from bridle.tools.tool import Output
from bridle.turn.active_turn import ActiveTurn, capped_output
from bridle.turn.authorize import Authority
from bridle.turn.hook import (
    AfterCall,
    Answer,
    BeforeCall,
    BeforeCompaction,
    Change,
    Hook,
    Moment,
    NewInstruction,
    NewOutput,
    Refuse,
)
from bridle.turn.scope import Aborted, Late, cancelled_by_us

LOG = logging.getLogger(__name__)


def hooks_for(active: ActiveTurn, event: str, tool: str = "") -> list[Hook]:
    """Return the hooks that are asked at this event."""
    try:
        hooks = active.setup.hooks
    except ConfigError:
        # The setup of the turn no longer exists; the turn ends with this error.
        return []
    return [hook for hook in hooks if hook.on == event and (not tool or matches(hook.tool, tool))]


async def ask(active: ActiveTurn, hook: Hook, moment: Moment) -> Answer | None:
    """Return the answer of a hook; one that fails or takes too long refuses. After an abort it is not asked."""
    answer = await active.scope.run(answer_of(hook, moment, active.record.lease.epoch), hook.seconds)
    if isinstance(answer, Late):
        LOG.warning("the hook %s took longer than %g s", hook.name, hook.seconds)
        return Refuse(f"the hook {hook.name!r} took too long")
    return None if isinstance(answer, Aborted) else answer


async def answer_of(hook: Hook, moment: Moment, epoch: int) -> Answer | None:
    """Return the answer of a hook; an exception is logged, and refuses."""
    try:
        return await hook.answer(moment, epoch)
    except (Exception, SystemExit, BaseExceptionGroup, asyncio.CancelledError) as error:
        # A hook is foreign code: its exceptions are its answer, and never end the turn.
        if cancelled_by_us(error):
            raise
        LOG.exception("the hook %s failed", hook.name)
        return Refuse(text_of(error) or f"the hook {hook.name!r} failed: {type(error).__name__}")


async def complaints(active: ActiveTurn, moment: Moment) -> AsyncIterator[str]:
    """Tell the hooks of a moment that takes no other answer; yield their complaints."""
    for hook in hooks_for(active, moment.event):
        answer = await ask(active, hook, moment)
        if isinstance(answer, Refuse):
            yield answer.text


async def ask_hooks(active: ActiveTurn, verdicts: dict[str, CallState]) -> dict[str, str]:
    """Ask the hooks before calls, which may refuse, replace or change them; return changed arguments by call.

    Changed arguments are validated and judged by the rules like those of the model. Hooks that have changed a call are
    not asked again about it, for example after a person has approved the change.
    """
    changed: dict[str, str] = {}
    for id, state in verdicts.items() if active.setup.hooks else ():
        call = active.session.call(id)
        asked = notice_id(id, "hook") in active.session.parts
        if not isinstance(state, (Running, Waiting)) or isinstance(call.state, Repeat) or asked:
            continue
        moment, answer = await _before_call(active, call)
        match answer:
            case Refuse(text):
                verdicts[id] = Refused(Refusal("hook"), f"not executed: a hook refused it: {text}")
            case NewOutput():
                verdicts[id] = _replaced(active, call, answer)
            case _ if moment.arguments != arguments_of(call.given):
                changed[id] = msgspec.json.encode(moment.arguments).decode()
                verdicts[id] = _judged_again(active, replace(call, changed=changed[id]))
    return changed


async def _before_call(active: ActiveTurn, call: Call) -> tuple[BeforeCall, Refuse | NewOutput | None]:
    """Ask all hooks, each with the changes of those before it. A refusal wins over an output; the last one counts."""
    moment = BeforeCall(call.name, call.id, arguments_of(call.given))
    refused: Refuse | None = None
    given: NewOutput | None = None
    hooks = hooks_for(active, moment.event, call.name)
    if hooks:
        # The reply with this call waits for the start of the call, but a hook may take long.
        await active.record.flush()
    for hook in hooks:
        match await ask(active, hook, moment):
            case Refuse() as refused:
                pass
            case NewOutput() as given:
                pass
            case Change(arguments):
                moment = replace(moment, arguments=arguments)
    return moment, refused or given


def _replaced(active: ActiveTurn, call: Call, given: NewOutput) -> Done | Failed:
    """Return the end of a call that a hook gave instead of running it."""
    text, stored = capped_output(active, call.id, given.text)
    if given.failed:
        return Failed(text, result_digest(given.text), stored=stored, by="hook")
    return Done(text, result_digest(given.text), stored=stored, by="hook", attached=given.attached or ())


def _judged_again(active: ActiveTurn, call: Call) -> CallState:
    try:
        active.setup.toolset.tools[call.name].check(arguments_of(call.given))
    except msgspec.ValidationError as error:
        text = f"not executed: a hook changed the arguments, and they do not fit {call.name}: {error}"
        return Refused(Refusal("hook"), text)
    # The approval was for other arguments: all accesses of the new ones are asked for together.
    return Authority(active).permitted(call, ())


def hook_notices(active: ActiveTurn, changed: Mapping[str, str], verdicts: Mapping[str, CallState]) -> list[Recorded]:
    """Return the notices about changed arguments and replaced calls for the reader."""
    if not active.setup.hooks:
        return []
    replaced = [id for id, state in verdicts.items() if isinstance(state, (Done, Failed)) and state.by == "hook"]
    texts = dict.fromkeys(changed, "before_call: a hook changed the arguments of {}")
    texts |= dict.fromkeys(replaced, "before_call: a hook gave the output of {}, which did not run")
    names = {id: active.session.call(id).name for id in texts}
    return [PartPut(Notice(notice_id(id, "hook"), "hook", text.format(names[id]))) for id, text in texts.items()]


async def after_hooks(active: ActiveTurn, call: Call, output: Output) -> Output:
    """Return an output after the hooks: they may replace it, and their complaints are added for the model."""
    words: list[str] = []
    moment = AfterCall(call.name, call.id, output.failed, output.text)
    for hook in hooks_for(active, moment.event, call.name):
        match await ask(active, hook, moment):
            case Refuse(text):
                words.append(f"[a hook says: {text}]")
            case NewOutput() as given if not _same(given, output):
                failed = output.failed if given.failed is None else given.failed
                attached = output.attached if given.attached is None else given.attached
                moment = replace(moment, output=given.text, failed=failed)
                # The stored full output is no longer the one that the model reads.
                output = replace(
                    output, text=given.text, failed=failed, attached=attached, stored="", digest="", by="hook"
                )
    if output.by == "hook":
        notice = Notice(notice_id(call.id, "output"), "hook", f"after_call: a hook replaced the output of {call.name}")
        await active.record.append(PartPut(notice))
    return replace(output, text="\n\n".join([output.text, *words])) if words else output


def _same(given: NewOutput, output: Output) -> bool:
    kept = given.failed in (None, output.failed) and given.attached in (None, output.attached)
    return kept and given.text == output.text


async def compaction_instruction(active: ActiveTurn, cause: str) -> tuple[str, list[str]]:
    """Return the instruction of a compaction as changed by hooks, and notices about the hooks for the reader."""
    template = active.asked.prompts["compaction"]
    moment = BeforeCompaction(cause, template)
    notices: list[str] = []
    for hook in hooks_for(active, moment.event):
        match await ask(active, hook, moment):
            case Refuse(text):
                notices.append(text)
            case NewInstruction(instruction):
                moment = replace(moment, instruction=instruction)
    if moment.instruction != template:
        notices.append("a hook changed the instruction")
    return moment.instruction, notices
