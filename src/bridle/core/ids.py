"""Builds and parses ids of parts, asks, accounts and subagents' sessions; random ids come from `Seams.new_id`.

No other module builds or parses them. Ids are stored on disk: changing one changes the format. `{…}` stands for a
component of an id, `[…]` for an optional one. File names, git refs and model references are not ids.

    item        a random id from `Seams.new_id`, like `prm_…`, or one chosen by the caller
    session     `ses_…` or one chosen by the caller, without `:` and `/`; a subagent's is {session}.{call}, that of an
                agent that a tool runs {session}.{call}.b{number}

    Parts of a session:
    part        {turn}.start | .halt | .text | .sentinel | .finish | .closing | .pruned | .title
    wanted      {turn}.wanted[.{item}]
    extension   {turn}.extension.{item}
    step part   {turn}.{step}.start | .cut | .output | .handoff | .refused.tool_calls
    patch       {turn}.{step}.patch.{sequence}
    request     {turn}.{step}.{attempt} | {turn}.{step}.s{attempt} | {compaction}.{attempt} | {turn}.title
    compaction  {turn}.c{number}
    reply part  {request}.{failures}.{place}; a call is one of them
    of request  {request}.finish | .refused
    notice      {turn | request | call}.notice.{about}[.{more}]…
    mark        undo.{sequence} | redo.{sequence}
    history     0.history; turn 0 stands for the time before the first turn

    Messages, asks and other ids derived from a call or a prompt:
    message     {call}.result | .report | .attached
    ask         {call}.{permission}[.again][.changed] | {call}.answer
    address     {session}:{ask}, where a subagent asks
    subtask     {prompt}.subtask
    typed       {prompt}.typed
    stored      {prompt}.prompt
    withdrawn   {prompt}.withdrawn, as a part; its item {prompt}.withdraw
    earlier     0.history.{number}, its blocks 0.history.{number}.{place}: a message from before the first turn

    Items between sessions:
    prompt      {session}:{call}, its abort {session}:{call}.abort
    rejection   {item}:{ask or address}
    asks        {session}.asks.{sequence}
    ending      {session}/{turn}.ended

    The ledger:
    account     {session}/{turn} | [{owner}/]day/{date} | [{owner}/]month/{year and month}
    reservation {request}[~{failures}]
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, NamedTuple

TurnPart = Literal["start", "halt", "text", "sentinel", "finish", "closing", "pruned", "title"]
StepPart = Literal["start", "cut", "output", "handoff", "refused.tool_calls"]
RESERVED_SESSIONS = ("day", "month")
"""Prefixes of ledger accounts: a session of this name would share these accounts."""


class TurnAccount(NamedTuple):
    """The turn that owns an account."""

    session: str
    turn: int


class AskAddress(NamedTuple):
    """An ask and the session that raised it; the session is empty for the one that is being asked."""

    session: str
    ask: str


class RequestReservation(NamedTuple):
    """The request that owns a reservation, and how often it had failed."""

    request: str
    failures: int


class StepRequest(NamedTuple):
    """Turn, step and attempt of a step's request."""

    turn: int
    step: int
    attempt: int


class ReplyPart(NamedTuple):
    """Turn, step, attempt, failed tries and place of a part in the reply of a step or of its synthesis."""

    purpose: Literal["step", "synthesis"]
    turn: int
    step: int
    attempt: int
    failures: int
    place: int


class StepAddress(NamedTuple):
    """A step as people refer to it."""

    turn: int
    step: int


def turn_part_id(turn: int, part: TurnPart) -> str:
    return f"{turn}.{part}"


def wanted_id(turn: int, item: str = "") -> str:
    """Return the id of a compaction that a person requested; without an item, of the one that a turn was opened for."""
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
    """Return turn, step and attempt of a step's request; None for any other request."""
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
    """Return the prefix of the ids of a reply's parts."""
    return f"{request}.{failures}"


def reply_part_id(reply: str, place: int) -> str:
    return f"{reply}.{place}"


def request_part_id(request: str, part: Literal["finish", "refused"]) -> str:
    return f"{request}.{part}"


def read_reply_part(id: str) -> ReplyPart | None:
    """Return where a part stands in the replies of its step; None for any other part."""
    turn, _, rest = id.partition(".")
    step, _, rest = rest.partition(".")
    attempt, _, rest = rest.partition(".")
    failures, _, place = rest.partition(".")
    numbers = (turn, step, attempt.removeprefix("s"), failures, place)
    if not all(number.isdecimal() for number in numbers):
        return None
    purpose: Literal["step", "synthesis"] = "synthesis" if attempt.startswith("s") else "step"
    return ReplyPart(purpose, *map(int, numbers))


HISTORY = "0.history"
"""Id of the conversation with which a session was created."""


def earlier_message_id(number: int) -> str:
    """Return the id of a message from before the first turn."""
    return f"{HISTORY}.{number}"


def earlier_block_id(message: str, place: int) -> str:
    """Return the id of a text, a thought or a call in a message from before the first turn."""
    return f"{message}.{place}"


def undo_id(sequence: int) -> str:
    return f"undo.{sequence}"


def redo_id(sequence: int) -> str:
    return f"redo.{sequence}"


def message_id(call: str, message: Literal["result", "report", "attached"]) -> str:
    """Return the id of a message about a call; `attached` messages of a batch use its first call."""
    return f"{call}.{message}"


def ask_id(call: str, permission: str, *, again: bool = False, changed: bool = False) -> str:
    """Return the id of an ask; the answer to a call's first ask must not count for its second."""
    return f"{call}.{permission}{'.again' if again else ''}{'.changed' if changed else ''}"


def question_id(call: str) -> str:
    """Return the id of the ask of a call that is itself a question."""
    return f"{call}.answer"


def read_question(ask: str) -> str:
    """Return the call of an ask that is itself a question or awaits its result."""
    return ask.removesuffix(".answer")


def subtask_id(prompt: str) -> str:
    """Return the id, as streamed, of the call that delegates a prompt to its subagent."""
    return f"{prompt}.subtask"


def typed_id(prompt: str) -> str:
    """Return the id, as streamed, of the call that runs a person's command."""
    return f"{prompt}.typed"


def stored_prompt_id(prompt: str) -> str:
    """Return the id under which the full text of a shortened prompt is stored."""
    return f"{prompt}.prompt"


def withdrawn_id(prompt: str) -> str:
    """Return the id of the part that says that a prompt was withdrawn."""
    return f"{prompt}.withdrawn"


def withdrawal_id(prompt: str) -> str:
    """Return the id of the item that withdraws a prompt."""
    return f"{prompt}.withdraw"


def child_session_id(session: str, call: str) -> str:
    return f"{session}.{call}"


def nested_run_id(call: str, number: int) -> str:
    """Return the id of an agent's run inside a tool call; it stands in for the call in the ids of its session."""
    return f"{call}.b{number}"


def is_below(id: str, above: str) -> bool:
    """Return whether a session is a direct or indirect subagent of another, or a part belongs to a request."""
    return id.startswith(f"{above}.")


def in_tree(session: str, root: str) -> bool:
    """Return whether a session is this one or below it; an empty root contains every session."""
    return not root or session == root or is_below(session, root)


def child_prompt_id(session: str, call: str) -> str:
    """Return the id of the prompt that a session gives to the subagent of a call."""
    return f"{session}:{call}"


def recall_id(session: str, call: str) -> str:
    """Return the id of the abort that a session sends to the subagent of a call."""
    return f"{child_prompt_id(session, call)}.abort"


def ask_address(session: str, ask: str) -> str:
    """Return the id of an ask together with the session that its answer goes to."""
    return f"{session}:{ask}"


def read_ask_address(id: str) -> AskAddress:
    session, colon, ask = id.partition(":")
    return AskAddress(session, ask) if colon else AskAddress("", id)


def rejection_id(item: str, ask: str) -> str:
    """Return the id of the answer by which a prompt rejects a subagent's ask."""
    return f"{item}:{ask}"


def asks_report_id(session: str, sequence: int) -> str:
    """Return the id of the item that reports the current open asks of a session to its parent."""
    return f"{session}.asks.{sequence}"


def end_report_id(session: str, turn: int) -> str:
    """Return the id of the item that reports the end of a turn to the parent."""
    return f"{account_id(session, turn)}.ended"


def account_id(session: str, turn: int) -> str:
    return f"{session}/{turn}"


def read_account(id: str) -> TurnAccount | None:
    """Return the turn that owns an account; None for the account of a day or a month."""
    session, _, turn = id.rpartition("/")
    return TurnAccount(session, int(turn)) if turn.isdecimal() else None


def is_account_in(account: str, root: str) -> bool:
    """Return whether an account belongs to a turn of this session or below it; an empty root matches any turn."""
    found = read_account(account)
    return found is not None and in_tree(found.session, root)


def account_range(session: str) -> tuple[str, str]:
    """Return the range of the accounts of a session's turns, the upper bound excluded.

    Days and months of an owner with the session's name are outside it.
    """
    return f"{session}/0", f"{session}/:"


def day_account_id(at: float, owner: str = "") -> str:
    """Return the id of the account of the UTC day that contains this time, in seconds since 1970."""
    return f"{_prefix(owner)}day/{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def month_account_id(at: float, owner: str = "") -> str:
    """Return the id of the account of the UTC month that contains this time, in seconds since 1970."""
    return f"{_prefix(owner)}month/{datetime.fromtimestamp(at, UTC):%Y-%m}"


def period_range(owner: str) -> tuple[str, str]:
    """Return the range of the accounts of an owner's days and months, the upper bound excluded."""
    return f"{_prefix(owner)}day/", f"{_prefix(owner)}month0"


def _prefix(owner: str) -> str:
    """Return the start of the ids of an owner's accounts. Those of the user have none, as in older versions."""
    return f"{owner}/" if owner else ""


def reservation_id(request: str, failures: int = 0) -> str:
    """Return the id of a reservation: each try of a request has its own."""
    return f"{request}~{failures}" if failures else request


def read_reservation(id: str) -> RequestReservation:
    request, _, failures = id.partition("~")
    return RequestReservation(request, int(failures) if failures.isdecimal() else 0)


def step_address(turn: int, step: int) -> str:
    """Return a step as people refer to it."""
    return f"{turn}.{step}"


def read_step_address(text: str) -> StepAddress | None:
    """Return the step that a person named, in turn 1 if no turn is given; None if the text is no step."""
    turn, dot, step = text.rpartition(".")
    if not step.isdecimal() or not (turn.isdecimal() or not dot):
        return None
    return StepAddress(int(turn or 1), int(step))


def looks_like_part(id: str) -> bool:
    """Return whether an id chosen by a caller begins like the ids that turns give to their parts."""
    number, dot, _ = id.partition(".")
    return bool(dot) and number.isdecimal()


def names_ask(word: str) -> bool:
    """Return whether a person means an ask by this word, and no session."""
    return looks_like_part(read_ask_address(word).ask)


def is_named_by(id: str, given: str) -> bool:
    """Return whether a person may mean this session by the beginning of its id."""
    return id.startswith(given)
