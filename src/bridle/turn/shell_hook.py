"""`ShellHook`: runs a command of the user as a hook, JSON on standard input, the answer from its output and status."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from bridle.core.hook import HookSettings
from bridle.process.containment import contain, told
from bridle.process.output_stream import OutputStream
from bridle.seams import in_thread
from bridle.tools.command_setup import CommandSetup
from bridle.tools.output_buffer import Printed
from bridle.turn.hook import AfterCall, Answer, BeforeCompaction, Change, Moment, NewInstruction, NewOutput, Refuse
from bridle.turn.setup import PermissionSetup

LOG = logging.getLogger(__name__)
MOST_SAID = 4_000
HOOK_READS = 20_000
HISTORY = "{history}"


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a `before_call` hook: the call runs with these."""

    arguments: dict[str, Any]

    def answer(self, moment: Moment) -> Answer:
        return Change(self.arguments)


class ReplacedOutput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of an `after_call` hook: the model reads this."""

    output: str

    def answer(self, moment: Moment) -> Answer:
        return NewOutput(self.output)


class Instruction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a `before_compaction` hook: another instruction, or text added to its end."""

    instruction: str = ""
    add: str = ""

    def answer(self, moment: Moment) -> Answer:
        assert isinstance(moment, BeforeCompaction)
        words = self.instruction or moment.instruction
        words = words if HISTORY in words else f"{words}\n\n{HISTORY}"
        return NewInstruction(f"{words}\n\n{self.add}" if self.add else words)


Printable = type[Arguments] | type[ReplacedOutput] | type[Instruction]
PRINTS: Mapping[str, Printable] = {
    "before_call": Arguments,
    "after_call": ReplacedOutput,
    "before_compaction": Instruction,
}


@dataclass(frozen=True)
class ShellHook:
    """Implements `Hook` with a shell command. An exit status other than 0 is a refusal."""

    settings: HookSettings
    session: str
    turn: int
    commands: CommandSetup
    permissions: PermissionSetup

    @property
    def name(self) -> str:
        return self.settings.command

    @property
    def on(self) -> str:
        return self.settings.on

    @property
    def tool(self) -> str:
        return self.settings.tool

    @property
    def seconds(self) -> float:
        return self.settings.seconds

    async def answer(self, moment: Moment, epoch: int) -> Answer | None:
        if isinstance(moment, AfterCall):
            moment = msgspec.structs.replace(moment, output=moment.output[:HOOK_READS])
        payload = {
            "event": moment.event,
            "session": self.session,
            "turn": self.turn,
            "directory": str(self.commands.directory),
            **msgspec.structs.asdict(moment),
        }
        status, text = await self._run(payload)
        if status != 0:
            return Refuse(text.strip()[:MOST_SAID] or f"the hook {self.name!r} ended with {status}")
        kind = PRINTS.get(moment.event)
        return printed_answer(self.name, text.strip(), kind, moment) if kind is not None else None

    async def _run(self, payload: Mapping[str, Any]) -> tuple[int, str]:
        """Return the exit status and the output of the command."""
        commands, project = self.commands, self.commands.directory.resolve()
        command = ["/bin/sh", "-c", self.settings.command]
        environment: Mapping[str, str] | None = commands.environment
        sandbox, watch = commands.find_sandbox(), None
        if sandbox is not None and self.settings.sandbox:
            given, permits = commands.environment, self.permissions.allows
            contained = await in_thread(lambda: contain(sandbox, project, project, given, permits=permits))
            command, environment, watch = [*contained.words, *command], contained.environment, contained.watch
        with tempfile.TemporaryFile() as stdin:
            stdin.write(msgspec.json.encode(payload))
            stdin.seek(0)
            piped = OutputStream(
                command,
                folder=project,
                given=stdin.fileno(),
                environment=environment,
                bounds=commands.bounds,
                watch=watch,
                lifelines=commands.find_lifelines(),
            )
        printed = Printed()
        status = await piped.run(printed.add)
        for line in told(piped.differences(), project).splitlines():
            LOG.warning("hook %s: %s", self.name, line)
        return status, printed.text()


def printed_answer(name: str, text: str, kind: Printable, moment: Moment) -> Answer | None:
    """Return the answer that a hook printed as JSON, or a complaint about it; None for any other output."""
    fields = kind.__struct_fields__
    if not text.startswith("{"):
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        meant = any(f'"{field}"' in text for field in fields)
        return Refuse(f"the hook {name!r} printed an answer that is no JSON: {error}") if meant else None
    if not any(field in value for field in fields):
        return None
    try:
        return msgspec.convert(value, kind).answer(moment)
    except msgspec.ValidationError as error:
        return Refuse(f"the hook {name!r} printed an answer that cannot be used: {error}")
