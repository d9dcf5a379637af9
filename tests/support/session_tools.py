"""The built-in tools as a session uses them: judged by the default rules, and by a person who says yes to some."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bridle.core.permission import DEFAULT_RULES, Access, Rule, covers, judge
from bridle.tools.command_setup import CommandSetup
from bridle.tools.registry import builtin_tools
from bridle.tools.tool import Invocation, Output

TOOLS = {tool.spec.name: tool for tool in builtin_tools()}


class Use:
    """A session's worth of calls: what was read is known to the later ones."""

    def __init__(self, directory: Path, rules: Sequence[Rule] = DEFAULT_RULES, guarded: tuple[Path, ...] = ()) -> None:
        self.directory = directory
        self.known: dict[str, Any] = {}
        self.rules = rules
        self.guarded = guarded

    def __call__(self, name: str, **arguments: Any) -> Output:
        """Run a call that a person said yes to, whatever it needs."""
        return self.granted(name, arguments, frozenset(self.needs(name, arguments)))

    def unasked(self, name: str, **arguments: Any) -> Output:
        """Run a call with what the rules allow without a question."""
        return self.granted(name, arguments, frozenset())

    def needs(self, name: str, arguments: dict[str, Any]) -> Sequence[Access]:
        tool = TOOLS[name]
        return tool.accesses(tool.check(arguments), self.directory)

    def granted(self, name: str, arguments: dict[str, Any], granted: Iterable[Access]) -> Output:
        tool = TOOLS[name]
        invocation = Invocation(
            call="call",
            session="session",
            commands=CommandSetup(directory=self.directory, find_guarded=lambda: self.guarded),
            known_files=self.known,
        )
        invocation.permits = lambda access: (
            any(covers(given, access) for given in granted) or judge(self.rules, access) == "allow"
        )
        return asyncio.run(tool.run(tool.check(arguments), invocation))
