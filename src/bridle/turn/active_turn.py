"""What the effects of a turn work with: its record, its tack, the seams and the scope of its abort."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import msgspec

from bridle.config.settings import HookSettings
from bridle.core.agent import ModelInfo
from bridle.core.context import cap_output, sound
from bridle.core.inbox import InboxItem, PromptItem
from bridle.core.ledger import Account, Shortage
from bridle.core.limits import UNLIMITED, Limits
from bridle.core.parts import Notice, Prompt, TurnStart
from bridle.core.permission import Access, Rule, Verdict, covers, judge, strictest
from bridle.core.retry import RetryPolicy
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Ask
from bridle.core.stream import ToolSpec
from bridle.errors import ConfigError
from bridle.model.model import Model
from bridle.process.sandbox import Sandbox
from bridle.seams import Seams
from bridle.tools.background import Backgrounds
from bridle.tools.tool import FileCheck, Tool
from bridle.turn.file_history import FileHistory
from bridle.turn.output_schema import OUTPUT, OutputSchema
from bridle.turn.record import Record
from bridle.turn.scope import Scope
from bridle.turn.text_growth import Growth

MOST_VERDICTS = 1_000
MOST_WRITTEN = 2
"""Replies of a session that are calls written as text, before the model is told its tools in words."""


@dataclass(slots=True, frozen=True)
class Deadlines:
    """How long a request may take to say something, to go on, and in all."""

    first_event_seconds: float = 180.0
    idle_seconds: float = 300.0
    request_seconds: float = 1_800.0


class ApprovalStore(Protocol):
    """Approvals that outlive their session. Both raise `ConfigError` if their file cannot be used."""

    def all(self) -> Sequence[Access]: ...

    def add(self, accesses: Iterable[Access]) -> None: ...


@dataclass(slots=True, frozen=True)
class SmallModel:
    """A model for small things."""

    model: Model
    info: ModelInfo


@dataclass(frozen=True)
class TurnSetup:
    """What one turn is equipped with, as its TurnStart says."""

    model: Model
    info: ModelInfo
    tools: Mapping[str, Tool]
    rules: tuple[Rule, ...]
    restrictions: tuple[tuple[Rule, ...], ...]
    """Lists of rules that can only make the others stricter."""
    layers: tuple[tuple[Rule, ...], ...]
    """The rules of every turn above this one: a subagent has at most their rights."""
    directory: Path
    prompts: Mapping[str, str]
    """Words for the model by occasion: closing, compaction, synthesis, title."""
    ceiling: int
    subagents: Mapping[str, str] = field(default_factory=dict)
    """What each agent is good for that a `task` call may start."""
    max_depth: int = 1
    without: tuple[str, ...] = ()
    """Tools that neither this turn nor anything below it may have."""
    prunes: bool = True
    """Whether old outputs of tools are removed at the end of a turn."""
    tree: Limits = UNLIMITED
    """What the whole tree under a root turn may use."""
    tree_cost: bool = False
    """Whether money is limited for the whole tree, or for a day or a month."""
    readable: tuple[Path, ...] = ()
    """Folders outside of the project that are read without a question: long outputs of this session, and skills."""
    guarded: tuple[Path, ...] = ()
    """Folders of Bridle's own, which no file tool writes to."""
    environment: Mapping[str, str] | None = None
    """What commands get to know of Bridle's own environment; none means all of it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    retry: RetryPolicy = RetryPolicy()
    deadlines: Deadlines = Deadlines()
    store_output: Callable[[str, str, str], str] | None = None
    output_file: Callable[[str, str], str] | None = None
    """The path of a file for the output of a call, which it may grow into."""
    reads_only: bool = False
    """Whether commands find the project read-only, here and below."""
    find_sandbox: Callable[[], Sandbox | None] = field(default=lambda: None)
    """Finds what commands run in. Whoever runs none pays nothing for it."""
    bounds: Mapping[str, int] = field(default_factory=dict)
    """How much a command may take."""
    backgrounds: Backgrounds = field(default_factory=Backgrounds)
    snapshots: FileHistory | None = None
    """Who keeps the files before they are changed; nobody, if nothing here may change them."""
    hooks: Sequence[HookSettings] = ()
    formatters: Sequence[FileCheck] = ()
    diagnostics: Sequence[FileCheck] = ()
    output: OutputSchema | None = None
    """What the answer must fit."""
    small: SmallModel | None = None
    """Who writes titles."""
    approvals: ApprovalStore | None = None
    """What a person has said always to in this project, kept for good."""

    @cached_property
    def approved(self) -> Sequence[Access]:
        """What was approved for good before this turn; a file that makes no sense approves nothing."""
        try:
            return self.approvals.all() if self.approvals is not None else ()
        except ConfigError:
            return ()

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told of the tools; the same in every request of the turn."""
        return tuple(tool.spec for tool in self.tools.values() if not tool.starts_child or self.subagents)

    @cached_property
    def worded(self) -> Model:
        """The model with its tools told in words."""
        # Loaded when a model needs it: most never do.
        from bridle.model.prompted_tools import TextCalls

        return TextCalls(self.model, self.info, constrained=self.info.constrained)

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """The names of the tools that the model is told of."""
        return (*(spec.name for spec in self.specs), *((OUTPUT,) if self.output is not None else ()))

    @cached_property
    def allows_hosts(self) -> bool:
        """Whether a rule allows a host for commands."""
        return any(rule.permission == "host" and rule.verdict == "allow" for rule in self.rules)

    @cached_property
    def judge(self) -> Callable[[Access], Verdict]:
        """What the rules say to an access, and the restrictions and the parents' rules on top of them.

        Rules do not change within a turn, and calls are judged by the same ones again and again.
        """
        return lru_cache(MOST_VERDICTS)(self._judge)

    def _judge(self, access: Access) -> Verdict:
        if access.permission == "external_directory" and access.reach == "exact":
            place = Path(access.pattern.removesuffix("/*"))
            if any(place.is_relative_to(folder) for folder in self.readable):
                return "allow"
        above = (judge(layer, access) for layer in self.layers)
        stricter = (judge(rules, access, default="allow") for rules in self.restrictions)
        return strictest((judge(self.rules, access), *stricter, *above))


@dataclass(slots=True, frozen=True)
class Opening:
    """A turn that may start, with its accounts and what its reader is told; or the problem that ends it at once.

    The first account is the turn's own; those of the day and the month may stand above it.
    """

    start: TurnStart
    accounts: tuple[Account, ...]
    notices: tuple[Notice, ...] = ()
    problem: str = ""


class TurnFactory(Protocol):
    """Turns a prompt into a turn, and a recorded turn back into what it works with."""

    def open(self, session: Session, item: PromptItem, number: int) -> Opening:
        """Everything that holds for the turn which this prompt opens. Never raises `ConfigError`: see `Opening`."""

    def equip(self, session: Session, start: TurnStart) -> TurnSetup:
        """What a recorded turn works with; raises `ConfigError` if it is not to be had any more."""


class OtherSessions(Protocol):
    """The other sessions, as far as a turn has to do with them."""

    submitted: set[str]
    """Ids of prompts that this session is known to have submitted to its subagents."""

    async def submit(self, session: str, item: InboxItem) -> bool:
        """Put an item into the inbox of a session and have it driven; return whether the item is new."""

    async def report(self, parent: str, item: InboxItem) -> None:
        """Put a report into the inbox of the parent; the engine decides whether to wake it."""

    async def settle_dead(self, short: Shortage) -> None:
        """Settle reservations that stand in the way and whose process is gone."""


class SideTask(Protocol):
    """Something that runs beside a turn, and ends before it does."""

    async def end(self, patience: float = 0.0) -> None:
        """Stop it, after this many seconds if it goes on so long, and record what became of it.

        May be called twice; may raise `JournalError`.
        """


@dataclass(slots=True, frozen=True)
class Ready:
    """A call that was judged: its arguments as the tool wants them, and what it may touch."""

    arguments: Any
    granted: frozenset[Access]


@dataclass
class ActiveTurn:
    """A turn's effects share this, and nothing else."""

    record: Record
    turns: TurnFactory
    seams: Seams
    scope: Scope
    others: OtherSessions
    held_prompts: bool = False
    ready: dict[str, Ready] = field(default_factory=dict)
    """The calls that are about to run."""
    mail: bool = True
    """Whether the inbox may hold something that was not looked at."""
    reported: tuple[Ask, ...] | None = None
    """What the parent was told last of the asks that are open here."""
    instruction: str = ""
    """What hooks made of the instruction for the compaction that is about to be asked for."""
    beside: SideTask | None = None
    """What runs beside the turn: the request for a title."""
    session: Session = field(init=False)
    growth: Growth = field(init=False)

    def __post_init__(self) -> None:
        self.session = self.record.session
        self.growth = Growth(self.record)

    @property
    def model(self) -> Model:
        """The model to ask; one that keeps writing its calls as text is told its tools in words."""
        setup = self.setup
        written = self.session.written.get(self.turn.start.model, 0)
        return setup.model if setup.info.calls != "unknown" or written < MOST_WRITTEN else setup.worded

    def store(self, name: str, text: str) -> tuple[str, str]:
        """Keep a long text in a file: its path, and the words that say where the whole is, or why it is not."""
        try:
            keep = self.setup.store_output
            if keep is None:
                return "", ""
            path = keep(self.record.lease.session, name, text)
        except (OSError, ConfigError) as error:
            return "", f"the whole could not be stored: {error}"
        return path, f"the whole is in {path}"

    def saved(self, access: Access) -> bool:
        """Whether a person has said always to this, or named the subagent in a prompt of this turn."""
        saved = any(covers(saved, access) for saved in (*self.session.always, *self.setup.approved))
        return saved or (access.permission == "task" and access.pattern in self._named())

    def _named(self) -> set[str]:
        prompts = (self.session.parts.get(id) for id in self.turn.prompts)
        return {name for prompt in prompts if isinstance(prompt, Prompt) for name in prompt.wants}

    @property
    def hosts(self) -> bool:
        """Whether somebody has allowed a host for commands: in a rule that says so, or with an always."""
        setup = self.setup
        return setup.allows_hosts or any(
            saved.permission == "host" for saved in (*self.session.always, *setup.approved)
        )

    def permits(self, granted: frozenset[Access], access: Access) -> bool:
        """Whether a call may touch this: it was judged and granted, or nobody would be asked.

        What was granted once stands for itself alone, and not for what an always would have let pass.
        """
        verdict = self.setup.judge(access)
        if verdict == "ask":
            once = (msgspec.structs.replace(each, always="") for each in granted)
            return any(covers(each, access) for each in once) or self.saved(access)
        return verdict == "allow"

    @property
    def turn(self) -> OpenTurn:
        turn = self.record.session.turn
        assert turn is not None and turn.finish is None
        return turn

    @cached_property
    def setup(self) -> TurnSetup:
        """Taken once for each turn, so that nothing changes under its feet."""
        return self.turns.equip(self.session, self.turn.start)


def capped_output(active: ActiveTurn, name: str, output: str) -> tuple[str, str]:
    """What the model reads of an output, and the file that has the whole if that is too long."""
    text, capped = cap_output(sound(output))
    if not capped:
        return text, ""
    stored, where = active.store(name, output)
    return (f"{text}\n\n[{where}]" if where else text), stored
