"""Every id of Bridle's own: built here, read here, and nowhere else.

Ids are on disk: a change of one is a change of the format. `{…}` stands for a part of an id, `[…]` for what may be
absent. Names of files, refs of git and references of models are no ids.

    item        a random id from `Seams.new_id`, such as `prm_…`, or what a caller chose
    session     `ses_…` or what a caller chose, without `:` and `/`; a subagent's is {session}.{call}

    Parts of a session:
    part        {turn}.start | .halt | .text | .sentinel | .finish | .closing | .pruned | .title
    wanted      {turn}.wanted[.{item}]
    extension   {turn}.extension.{item}
    step part   {turn}.{step}.start | .cut | .output | .refused.tool_calls
    patch       {turn}.{step}.patch.{sequence}
    request     {turn}.{step}.{attempt} | {turn}.{step}.s{attempt} | {compaction}.{attempt} | {turn}.title
    compaction  {turn}.c{number}
    reply part  {request}.{failures}.{place}; a call is one of them
    of request  {request}.finish | .refused
    notice      {turn | request | call}.notice.{about}[.{more}]…
    mark        undo.{sequence} | redo.{sequence}

    Messages, asks and what else comes from a call or a prompt:
    message     {call}.result | .report | .attached
    ask         {call}.{permission}[.again][.changed] | {call}.answer
    address     {session}:{ask}, where a subagent asks
    subtask     {prompt}.subtask
    stored      {prompt}.prompt

    Items between sessions:
    prompt      {session}:{call}, its abort {session}:{call}.abort
    rejection   {item}:{ask or address}
    asks        {session}.asks.{sequence}
    ending      {session}/{turn}.ended

    The ledger:
    account     {session}/{turn} | day/{date} | month/{year and month}
    reservation {request}[~{failures}]
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, NamedTuple

TurnPart = Literal["start", "halt", "text", "sentinel", "finish", "closing", "pruned", "title"]
StepPart = Literal["start", "cut", "output", "refused.tool_calls"]
RESERVED_SESSIONS = ("day", "month")
"""The ledger has accounts that begin with these: a session of that name would share them."""


class TurnAccount(NamedTuple):
    """The turn that an account is for."""

    session: str
    turn: int


class AskAddress(NamedTuple):
    """An ask, and the session in which it came up; empty for the session that is asked about."""

    session: str
    ask: str


class RequestReservation(NamedTuple):
    """The request that a reservation is for, and how often it had failed."""

    request: str
    failures: int


class StepRequest(NamedTuple):
    """The place of a step's request."""

    turn: int
    step: int
    attempt: int


class StepAddress(NamedTuple):
    """A step as people name it."""

    turn: int
    step: int


def turn_part_id(turn: int, part: TurnPart) -> str:
    return f"{turn}.{part}"


def wanted_id(turn: int, item: str = "") -> str:
    """Return the id of a compaction that a person wants; without an item, of the one for which a turn was opened."""
    return f"{turn}.wanted.{item}" if item else f"{turn}.wanted"


def extension_id(turn: int, item: str) -> str:
    """Return the id of an extension, or of the notice that refuses it."""
    return f"{turn}.extension.{item}"


def notice_id(of: int | str, *about: int | str) -> str:
    """Return the id of a notice: of a turn by its number, or of a request or call by its id."""
    return f"{of}.notice.{'.'.join(map(str, about))}"


def step_part_id(turn: int, step: int, part: StepPart) -> str:
    return f"{turn}.{step}.{part}"


def patch_id(turn: int, step: int, sequence: int) -> str:
    return f"{turn}.{step}.patch.{sequence}"


def step_request_id(turn: int, step: int, attempt: int) -> str:
    return f"{turn}.{step}.{attempt}"


def read_step_request(id: str) -> StepRequest | None:
    """Return the place of a step's request; None for any other request."""
    numbers = id.split(".")
    if len(numbers) != len(StepRequest._fields) or not all(map(str.isdecimal, numbers)):
        return None
    return StepRequest(*map(int, numbers))


def synthesis_id(turn: int, step: int, attempt: int) -> str:
    return f"{turn}.{step}.s{attempt}"


def compaction_id(turn: int, number: int) -> str:
    return f"{turn}.c{number}"


def compaction_request_id(compaction: str, attempt: int) -> str:
    return f"{compaction}.{attempt}"


def reply_id(request: str, failures: int) -> str:
    """Return what the ids of a reply's parts begin with."""
    return f"{request}.{failures}"


def reply_part_id(reply: str, place: int) -> str:
    return f"{reply}.{place}"


def request_part_id(request: str, part: Literal["finish", "refused"]) -> str:
    return f"{request}.{part}"


def undo_id(sequence: int) -> str:
    return f"undo.{sequence}"


def redo_id(sequence: int) -> str:
    return f"redo.{sequence}"


def message_id(call: str, message: Literal["result", "report", "attached"]) -> str:
    """Return the id of what the model is told of a call; of what calls have attached, by the first of them."""
    return f"{call}.{message}"


def ask_id(call: str, permission: str, *, again: bool = False, changed: bool = False) -> str:
    """Return the id of an ask; an answer to a call's first ask must not pass for one to its second."""
    return f"{call}.{permission}{'.again' if again else ''}{'.changed' if changed else ''}"


def question_id(call: str) -> str:
    """Return the id of the ask of a call that is itself a question."""
    return f"{call}.answer"


def subtask_id(prompt: str) -> str:
    """Return the id, as the stream has it, of the call that hands a prompt to its subagent."""
    return f"{prompt}.subtask"


def stored_prompt_id(prompt: str) -> str:
    """Return the id under which the whole of a shortened prompt is stored."""
    return f"{prompt}.prompt"


def child_session_id(session: str, call: str) -> str:
    return f"{session}.{call}"


def is_below(id: str, above: str) -> bool:
    """Return whether a session is a subagent of another, near or far; or whether a part is one of a request's."""
    return id.startswith(f"{above}.")


def in_tree(session: str, root: str) -> bool:
    """Return whether a session is this one or below it; everything is below no session."""
    return not root or session == root or is_below(session, root)


def child_prompt_id(session: str, call: str) -> str:
    """Return the id of the prompt that a session gives to the subagent of a call."""
    return f"{session}:{call}"


def recall_id(session: str, call: str) -> str:
    """Return the id of the abort that a session sends to the subagent of a call."""
    return f"{child_prompt_id(session, call)}.abort"


def ask_address(session: str, ask: str) -> str:
    """Return the id of an ask that says where its answer goes."""
    return f"{session}:{ask}"


def read_ask_address(id: str) -> AskAddress:
    session, colon, ask = id.partition(":")
    return AskAddress(session, ask) if colon else AskAddress("", id)


def rejection_id(item: str, ask: str) -> str:
    """Return the id of the answer by which a prompt rejects an ask of a subagent."""
    return f"{item}:{ask}"


def asks_report_id(session: str, sequence: int) -> str:
    """Return the id under which a parent is told what is asked below it, as the session stands now."""
    return f"{session}.asks.{sequence}"


def end_report_id(session: str, turn: int) -> str:
    """Return the id under which a parent is told of the end of a turn."""
    return f"{account_id(session, turn)}.ended"


def account_id(session: str, turn: int) -> str:
    return f"{session}/{turn}"


def read_account(id: str) -> TurnAccount | None:
    """Return the turn that an account is for; None for a day's or a month's."""
    session, _, turn = id.rpartition("/")
    return TurnAccount(session, int(turn)) if turn.isdecimal() else None


def is_account_in(account: str, root: str) -> bool:
    """Return whether an account is of a turn of this session or of one below it; without a session, of any turn."""
    found = read_account(account)
    return found is not None and in_tree(found.session, root)


def account_range(session: str) -> tuple[str, str]:
    """Return the bounds, the second one excluded, between which the ids of a session's accounts lie."""
    return f"{session}/", f"{session}0"


def day_account_id(at: float) -> str:
    """Return the id of the account of the day (UTC) that has this moment, in seconds since 1970."""
    return f"day/{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def month_account_id(at: float) -> str:
    """Return the id of the account of the month (UTC) that has this moment, in seconds since 1970."""
    return f"month/{datetime.fromtimestamp(at, UTC):%Y-%m}"


def reservation_id(request: str, failures: int = 0) -> str:
    """Return the id of a reservation: each try of a request has one of its own."""
    return f"{request}~{failures}" if failures else request


def read_reservation(id: str) -> RequestReservation:
    request, _, failures = id.partition("~")
    return RequestReservation(request, int(failures) if failures.isdecimal() else 0)


def step_address(turn: int, step: int) -> str:
    """Return a step as people name it."""
    return f"{turn}.{step}"


def read_step_address(text: str) -> StepAddress | None:
    """Return the step that a person named; without a turn it is one of the first. None for anything else."""
    turn, dot, step = text.rpartition(".")
    if not step.isdecimal() or not (turn.isdecimal() or not dot):
        return None
    return StepAddress(int(turn or 1), int(step))


def looks_like_part(id: str) -> bool:
    """Return whether an id that a caller chose begins as those do which a turn gives to its parts."""
    number, dot, _ = id.partition(".")
    return bool(dot) and number.isdecimal()
