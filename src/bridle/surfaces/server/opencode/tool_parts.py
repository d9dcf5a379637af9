"""Builds tool parts and asks from tool calls: their states, titles, and the metadata that screens draw."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import msgspec

from bridle.core import parts, states
from bridle.core.context import ANSWERED
from bridle.surfaces.server.opencode import events, ids, shapes
from bridle.surfaces.server.opencode.diffs import file_diffs

MOST_OUTPUT = 30_000
"""Characters of the output of a running call that its part shows."""
PATCHED = {"added": "add", "deleted": "delete", "modified": "update"}
TITLES = {
    "bash": "description",
    "read": "filePath",
    "write": "filePath",
    "edit": "filePath",
    "glob": "pattern",
    "grep": "pattern",
    "list": "path",
    "webfetch": "url",
    "skill": "name",
    "task": "description",
}
"""The argument that is the title of a call."""


@dataclass(slots=True)
class CallShown:
    """A call and its part: when it started, and what it has printed."""

    call: parts.Call
    message: str
    part: str
    start: int = 0
    output: str = ""
    diff: str = ""


def arguments(text: str) -> dict[str, Any]:
    """Return the arguments of a call; empty if they are no JSON object."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def tool_state(shown: CallShown, at: int, session: str) -> shapes.ToolState:
    """Return the state of a call's part at this time."""
    call = shown.call
    given = arguments(call.given)
    metadata = _metadata(shown, given)
    span = shapes.TimeSpan(shown.start or at)
    over = shapes.TimeSpan(shown.start or at, at)
    match call.state:
        case states.Pending() | states.Repeat() | states.Queued():
            return shapes.PendingTool(input=given, raw=call.given)
        case states.Asking() | states.Approved() | states.Running():
            return shapes.RunningTool(input=given, title=_title(call.name, given), metadata=metadata, time=span)
        case states.Waiting(told=told):
            if told:
                return _completed(shown, given, told, over)
            return shapes.RunningTool(input=given, title=_title(call.name, given), metadata=metadata, time=span)
        case states.Done(output=output, attached=attached):
            files = tuple(
                shapes.FilePart(
                    id=f"{shown.part}{number:02}",
                    sessionID=session,
                    messageID=shown.message,
                    mime=each.media,
                    url=f"data:{each.media};base64,{each.data}",
                    filename=each.name,
                )
                for number, each in enumerate(attached)
            )
            completed = _completed(shown, given, output, over)
            return msgspec.structs.replace(completed, attachments=files) if files else completed
        case states.Failed(output=output) | states.Refused(output=output):
            return shapes.FailedTool(input=given, error=output, metadata=metadata, time=over)


def _completed(shown: CallShown, given: dict[str, Any], output: str, span: shapes.TimeSpan) -> shapes.CompletedTool:
    title = _title(shown.call.name, given)
    return shapes.CompletedTool(
        input=given, output=output, title=title, metadata=_metadata(shown, given, output), time=span
    )


def _title(tool: str, given: dict[str, Any]) -> str:
    title = given.get(TITLES.get(tool, ""), "")
    return title if isinstance(title, str) else ""


def _metadata(shown: CallShown, given: dict[str, Any], output: str = "") -> dict[str, Any]:
    """Return what OpenCode's screens draw of a call besides its input."""
    call = shown.call
    match call.name:
        case "bash":
            return {"output": (output or shown.output)[-MOST_OUTPUT:], "description": _title("bash", given)}
        case "write":
            return {"filepath": given.get("filePath", ""), "diagnostics": {}}
        case "edit":
            return {"diff": _diff(shown) or _edit_diff(given), "diagnostics": {}}
        case "apply_patch":
            return {"files": [_patched(each) for each in file_diffs(_diff(shown))], "diagnostics": {}}
        case "todowrite":
            return {"todos": given.get("todos", [])}
        case "question":
            return {"answers": answers_of(given, output)} if output else {}
    return {"sessionId": ids.shown_session(call.child)} if call.child else {}


def _diff(shown: CallShown) -> str:
    """Return the changes of a call: as they were made, or else as they were asked for."""
    state = shown.call.state
    return (state.diff if isinstance(state, states.Done) else "") or shown.diff


def _patched(change: shapes.FileDiff) -> dict[str, Any]:
    """Return a file of a patch as OpenCode's screens read it."""
    return {
        "filePath": change.file,
        "relativePath": change.file,
        "type": PATCHED[change.status],
        "patch": change.patch,
        "diff": change.patch,
        "additions": change.additions,
        "deletions": change.deletions,
    }


def answers_of(given: dict[str, Any], output: str) -> tuple[tuple[str, ...], ...]:
    """Return the answers to the questions of a call, one after the other, from its result."""
    text = output.removeprefix(ANSWERED)
    questions = _questions(given)
    if len(questions) < 2:
        return ((text,),)
    found: list[tuple[str, ...]] = []
    for question in questions:
        _, asked_at, after = text.partition(f"{question.question}\n")
        found.append((after.partition("\n")[0],) if asked_at else ())
    return tuple(found)


def _edit_diff(given: dict[str, Any]) -> str:
    """Return an edit as a unified diff of its own text, for one that has not run, and where none is recorded."""
    path, old, new = (str(given.get(name, "")) for name in ("filePath", "oldString", "newString"))
    return "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm=""))


def asked(shown: CallShown, ask: states.Ask, session: str) -> events.PermissionAsked | events.QuestionAsked | None:
    """Return the event for an open ask; None for a result that a program supplies."""
    tool = shapes.CallReference(shown.message, shown.call.id)
    given = arguments(shown.call.given)
    name = ids.shown_session(session)
    if ask.kind == "question":
        questions = _questions(given) or (shapes.QuestionInfo(question=ask.text, header="", options=()),)
        id = ids.ask_question_id(session, ask.id, shown.call.id)
        return events.QuestionAsked(id=id, sessionID=name, questions=questions, tool=tool)
    if ask.kind == "deferred":
        return None
    metadata: dict[str, Any] = {"text": ask.text}
    if isinstance(command := given.get("command"), str):
        metadata["command"] = command
    if isinstance(path := given.get("filePath"), str):
        metadata |= {"filepath": path, "diff": ask.diff}
    accesses = ask.accesses
    return events.PermissionAsked(
        id=ids.permission_id(session, ask.id, shown.call.id),
        sessionID=name,
        permission=accesses[0].permission if accesses else "approval",
        patterns=tuple(access.pattern for access in accesses),
        metadata=metadata,
        always=tuple(access.always or access.pattern for access in accesses),
        tool=tool,
    )


def answered(
    told: events.PermissionAsked | events.QuestionAsked, state: states.CallState, call: parts.Call
) -> events.Answered:
    """Return the event for an ask that is over, by the state of its call."""
    name = told.sessionID
    if isinstance(told, events.QuestionAsked):
        if not isinstance(state, states.Done):
            return events.QuestionRejected(sessionID=name, requestID=told.id)
        answers = answers_of(arguments(call.given), state.output)
        return events.QuestionReplied(sessionID=name, requestID=told.id, answers=answers)
    if isinstance(state, states.Ended):
        return events.PermissionReplied(sessionID=name, requestID=told.id, reply="reject")
    always = isinstance(state, states.Approved) and bool(state.always)
    return events.PermissionReplied(sessionID=name, requestID=told.id, reply="always" if always else "once")


def _questions(given: dict[str, Any]) -> tuple[shapes.QuestionInfo, ...]:
    listed = given.get("questions")
    found = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return tuple(_question(each) for each in found)


def _question(given: dict[str, Any]) -> shapes.QuestionInfo:
    listed = given.get("options")
    options = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return shapes.QuestionInfo(
        question=str(given.get("question", "")),
        header=str(given.get("header", "")),
        options=tuple(
            shapes.QuestionOption(str(each.get("label", "")), str(each.get("description", ""))) for each in options
        ),
        multiple=given.get("multiple") is True,
        custom=given.get("custom") is not False,
    )
