"""`TurnSetup`: a turn's models, permissions, tools, hooks and limits, fixed at its start; built by `assembly`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

from bridle.core.agent import ModelInfo
from bridle.core.limits import UNLIMITED, Limits
from bridle.core.permission import Access, Rule, Verdict, judge, strictest
from bridle.core.retry import RetryPolicy
from bridle.core.stream import ToolSpec
from bridle.errors import ConfigError
from bridle.model.model import Model
from bridle.tools.command_setup import CommandSetup
from bridle.tools.output_buffer import OutputFolder
from bridle.tools.tool import Tool
from bridle.turn.caller import Caller
from bridle.turn.file_history import FileHistory
from bridle.turn.hook import Hook
from bridle.turn.output_schema import OUTPUT, OutputSchema

MOST_VERDICTS = 1_000


@dataclass(slots=True, frozen=True)
class Deadlines:
    """Timeouts of a request: until its first event, between two events, and in all."""

    first_event_seconds: float = 180.0
    idle_seconds: float = 300.0
    request_seconds: float = 1_800.0


@dataclass(slots=True, frozen=True)
class SmallModel:
    """A small model for auxiliary requests."""

    model: Model
    info: ModelInfo


@dataclass(frozen=True, kw_only=True)
class ModelSetup:
    """A model of a turn, and the options of its requests."""

    model: Model
    info: ModelInfo
    prompts: Mapping[str, str]
    """Instructions to the model by occasion: closing, compaction, synthesis, title."""
    options: Mapping[str, Any] = field(default_factory=dict)
    retry: RetryPolicy = RetryPolicy()
    deadlines: Deadlines = Deadlines()
    small: SmallModel | None = None
    """The model that writes titles."""

    @cached_property
    def worded(self) -> Model:
        """The model with its tools described in the prompt."""
        # Imported when a model needs it: most never do.
        from bridle.model.prompted_tools import TextCalls

        return TextCalls(self.model, self.info, constrained=self.info.constrained)


class ApprovalStore(Protocol):
    """Approvals that outlive their session. Both methods raise `ConfigError` if their file cannot be used."""

    def all(self) -> Sequence[Access]: ...

    def add(self, accesses: Iterable[Access]) -> None: ...


@dataclass(frozen=True, kw_only=True)
class PermissionSetup:
    """The rules of a turn. They do not change while it lasts."""

    rules: tuple[Rule, ...]
    restrictions: tuple[tuple[Rule, ...], ...]
    """Lists of rules that can only make the others stricter."""
    layers: tuple[tuple[Rule, ...], ...]
    """The rules of every turn above this one: a subagent has at most their rights."""
    readable: tuple[Path, ...] = ()
    """Folders outside of the project that may be read without an ask: long outputs of this session, and skills."""
    approvals: ApprovalStore | None = None
    """Permanently granted permissions of this project."""

    @cached_property
    def approved(self) -> Sequence[Access]:
        """The permissions granted permanently before this turn; a damaged file grants none."""
        try:
            return self.approvals.all() if self.approvals is not None else ()
        except ConfigError:
            return ()

    @cached_property
    def allows_hosts(self) -> bool:
        """Whether a rule allows a host for commands."""
        return any(rule.permission == "host" and rule.verdict == "allow" for rule in self.rules)

    @cached_property
    def judge(self) -> Callable[[Access], Verdict]:
        """Return the verdict of the rules, the restrictions and the parents' rules on an access.

        Calls are judged by the same rules again and again, so verdicts are kept.
        """
        return lru_cache(MOST_VERDICTS)(self._judge)

    def allows(self, access: Access) -> bool:
        """Return whether an access needs no ask."""
        return self.judge(access) == "allow"

    def _judge(self, access: Access) -> Verdict:
        if access.permission == "external_directory" and access.reach == "exact":
            place = Path(access.pattern.removesuffix("/*"))
            if any(place.is_relative_to(folder) for folder in self.readable):
                return "allow"
        above = (judge(layer, access) for layer in self.layers)
        stricter = (judge(rules, access, default="allow") for rules in self.restrictions)
        return strictest((judge(self.rules, access), *stricter, *above))


@dataclass(frozen=True, kw_only=True)
class ToolSetup:
    """The tools of a turn."""

    tools: Mapping[str, Tool]
    subagents: Mapping[str, str] = field(default_factory=dict)
    """The agents that a `task` call may start, with their descriptions."""
    without: tuple[str, ...] = ()
    """Tools that neither this turn nor any turn below it may have."""
    output: OutputSchema | None = None
    """The schema that the answer must fit."""
    caller: Caller | None = None
    """The Python program whose functions are tools and check the answer; None for turns of the command line."""

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The descriptions of the tools for the model; the same in every request of the turn."""
        return tuple(tool.spec for tool in self.tools.values() if not tool.starts_child or self.subagents)

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """The names of the tools that are offered to the model."""
        return (*(spec.name for spec in self.specs), *((OUTPUT,) if self.output is not None else ()))


@dataclass(slots=True, frozen=True, kw_only=True)
class TurnSetup:
    """The whole setup of one turn, with the bounds from the settings that TurnStart does not record."""

    models: Mapping[str, ModelSetup]
    """The models of the turn by reference: the one that is asked, and its fallbacks as far as they are available."""
    permissions: PermissionSetup
    toolset: ToolSetup
    commands: CommandSetup
    ceiling: int
    """The maximum number of steps that extensions may reach."""
    max_depth: int = 1
    """Maximum depth of nested subagents."""
    tree: Limits = UNLIMITED
    """The limits of the whole tree under a root turn."""
    limited_above: bool = False
    """Whether the whole tree, a day or a month has a limit, or can get one while the turn runs."""
    prunes: bool = True
    """Whether old outputs of tools are removed at the end of a turn."""
    hooks: Sequence[Hook] = ()
    """Asked in this order."""
    snapshots: FileHistory | None = None
    """Snapshots the files before they are changed; None if nothing may change them."""
    outputs: OutputFolder | None = None
    """Stores outputs that are too long for the model."""
