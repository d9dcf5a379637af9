"""What a turn works with, from the settings: its agent, model, tools, rules, limits and system prompt."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from bridle.assembly.command_environment import CommandEnvironment, command_environment_for
from bridle.assembly.limits import accounts_of, limits_tree_cost, turn_limits
from bridle.assembly.prompts import small_model, spoken, switched, words_of
from bridle.assembly.toolset import Toolset, asked_besides, startable
from bridle.assembly.user_setup import UserSetup as UserSetup
from bridle.config.agents import all_agents, rules
from bridle.config.approvals import Approvals
from bridle.config.model_checks import check_files, need_price
from bridle.config.settings import Settings
from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.compaction import compact_at
from bridle.core.ids import account_id, notice_id, turn_part_id
from bridle.core.inbox import PromptItem, TurnOptions
from bridle.core.ledger import Account
from bridle.core.limits import LOWEST_OUTPUT_TOKENS, UNLIMITED, Limits
from bridle.core.parts import Delegation, File, Notice, TurnStart
from bridle.core.permission import Access, Rule, Verdict, covers, judge, strictest
from bridle.core.retry import RetryPolicy
from bridle.core.session import Session
from bridle.core.system_prompt import system_prompt
from bridle.errors import ConfigError
from bridle.model.model import Model
from bridle.seams import Seams
from bridle.tools.skill import listed, skill_tool
from bridle.tools.task import task_tool
from bridle.tools.tool import Tool
from bridle.turn.active_turn import Deadlines, Opening, TurnSetup
from bridle.turn.delegate_prompt import delegating
from bridle.turn.output_schema import INSTRUCTION, OutputSchema
from bridle.values.options import RESERVED_OPTIONS, layered
from bridle.values.provider import Provider
from bridle.values.secrets import without_secrets

FindModel = Callable[[str], tuple[Model, ModelInfo]]
ALIASES = frozenset({"sonnet", "opus", "haiku"})
Choose = Callable[[], tuple[str, str]]
"""A model that nobody named, and why it was taken; raises `ConfigError` if there is none."""

SHUT_IN = "\nCommands run in a sandbox: no network, and a /tmp of their own that file tools do not see."


@dataclass(slots=True)
class SettingsTurns:
    """See `TackRoom`."""

    settings: Settings
    origins: Mapping[str, str]
    find_model: FindModel
    tools: Mapping[str, Tool]
    seams: Seams
    agents: dict[str, AgentDefinition] = field(default_factory=dict)
    restrictions: tuple[tuple[Rule, ...], ...] = ()
    outputs: Path | None = None
    subagents: Sequence[str] | None = ()
    """The agents that a `task` call may start; None means all whose mode says so."""
    choose: Choose | None = None
    alias: Callable[[str], str | None] | None = None
    """The model that a family's name stands for, if it can be had."""
    environment: Mapping[str, str] | None = None
    directory: Path = Path()
    user: UserSetup = field(default_factory=UserSetup)
    private_tools: Mapping[str, Mapping[str, Tool]] = field(default_factory=dict)
    commands: CommandEnvironment = field(init=False)
    toolset: Toolset = field(init=False)

    def __post_init__(self) -> None:
        self.commands = command_environment_for(
            self.settings, self.environment or {}, self.user.guarded, self.outputs, self.directory
        )
        self.agents = {**all_agents(self.settings, self.origins), **self.agents}
        if self.subagents is None:
            usable = (agent for agent in self.agents.values() if agent.mode != "primary" and not agent.hidden)
            self.subagents = [agent.name for agent in usable]
        if self.user.skills:
            self.tools = {**self.tools, "skill": skill_tool(self.user.skills)}
        if self.subagents:
            described = {name: self.agents[name].description for name in self.subagents}
            self.tools = {**self.tools, "task": task_tool(described)}
        self.toolset = Toolset(self.tools, self.user.built_in, private=self.private_tools)

    def open(self, session: Session, item: PromptItem, number: int) -> Opening:
        options = item.options or TurnOptions()
        assert session.info is not None
        try:
            return self._open(session, options, number, item.files)
        except ConfigError as error:
            start = TurnStart(
                turn_part_id(number, "start"), number, options.agent or "", options.model or "", 0, Limits(), "deny"
            )
            delegation = options.delegation
            start = msgspec.structs.replace(start, account=account_id(session.info.id, number), delegation=delegation)
            above = delegation.account if delegation is not None else None
            return Opening(start, (Account(start.account, above),), problem=str(error))

    def _open(self, session: Session, options: TurnOptions, number: int, files: Sequence[File]) -> Opening:
        assert session.info is not None
        before = session.turn.start if session.turn is not None else None
        agent = self._agent(options.agent or (before.agent if before else "") or self.settings.agent)
        delegation = options.delegation
        ref = self._ref(session, options, agent)
        chosen: tuple[Notice, ...] = ()
        if not ref:
            ref, why = self._chosen()
            chosen = (Notice(notice_id(number, "model"), "model", f"model {ref}: {why}"),)
        _, info = self._model(ref)
        check_files(info, files)
        spoken(self.settings.prompts, self.agents)
        variant = options.variant or (before.variant if before is not None and before.model == ref else "")
        variant = variant or (agent.variant if agent.variant in info.variants else "")
        self._options(info, agent, variant)
        limits, cap, notices = turn_limits(self.settings, options, agent, number)
        if delegation is None:
            notices = (*notices, *self._news(session, number), *switched(before, agent, number))
        if limits.cost is not None or limits_tree_cost(self.settings) or (delegation is not None and delegation.priced):
            need_price(info)
        output = options.output if options.output is not None else agent.output
        output = dict(output) if output is not None else None
        if output is not None:
            OutputSchema(output).check()
        tools = tuple(self.toolset.chosen(agent, options, info, self._rules(agent)))
        system = self._system(session, agent, options, info, tools, asks_for_output=output is not None)
        start = TurnStart(
            turn_part_id(number, "start"),
            number,
            agent.name,
            ref,
            cap,
            limits,
            options.on_ask or "deny",
            tools,
            system if system != session.system else "",
            account_id(session.info.id, number),
            round(self.seams.clock.wall(), 3),
            delegation,
            info.context_window,
            self._compact_at(info),
            variant,
            output,
            asked_besides(agent, tools),
        )
        return Opening(start, accounts_of(self.settings, start), (*chosen, *notices))

    def model_ref(self, session: Session, options: TurnOptions | None) -> str | None:
        """The model that a turn with these options would ask; None if one has to be chosen."""
        options = options or TurnOptions()
        before = session.turn.start if session.turn is not None else None
        name = options.agent or (before.agent if before else "") or self.settings.agent
        return self._ref(session, options, self.agents.get(name) or AgentDefinition(name))

    def _ref(self, session: Session, options: TurnOptions, agent: AgentDefinition) -> str | None:
        before = session.turn.start if session.turn is not None else None
        inherited = options.delegation.model if options.delegation is not None else None
        own = agent.model if agent.model not in ALIASES else self.alias(agent.model) if self.alias is not None else None
        return options.model or (before.model if before else None) or own or inherited or self.settings.model

    def _chosen(self) -> tuple[str, str]:
        if self.choose is None:
            raise ConfigError("no model is set: give one with --model or `model = …` in the configuration")
        return self.choose()

    def _options(self, info: ModelInfo, agent: AgentDefinition, variant: str) -> dict[str, Any]:
        """The provider's, the model's, the agent's, the variant's: in that order."""
        if variant and variant not in info.variants:
            known = ", ".join(info.variants) or "none"
            raise ConfigError(f"{info.ref} has no variant {variant!r} (known: {known})")
        merged = layered(info.options, agent.options, info.variants.get(variant, {}))
        for key in RESERVED_OPTIONS:
            if key in merged:
                raise ConfigError(
                    f"the options of {info.ref} or of agent {agent.name} may not set {key!r}: Bridle does"
                )
        return merged

    def _compact_at(self, info: ModelInfo) -> int:
        if not self.settings.compaction.auto:
            return 0
        kept = min(self.settings.compaction.reserved, info.context_window // 2)
        return compact_at(info.context_window, max(kept, min(LOWEST_OUTPUT_TOKENS, info.max_output_tokens)))

    def _agent(self, name: str) -> AgentDefinition:
        try:
            return self.agents[name]
        except KeyError:
            known = ", ".join(sorted(self.agents))
            raise ConfigError(f"there is no agent {name!r} (known: {known})") from None

    def _model(self, ref: str) -> tuple[Model, ModelInfo]:
        model, info = self.find_model(ref)
        given = self.settings.models.get(ref)
        if given is not None:
            info = msgspec.structs.replace(
                info,
                context_window=given.context_window or info.context_window,
                max_output_tokens=given.max_output_tokens or info.max_output_tokens,
                price=given.price or info.price,
                options=layered(info.options, given.options),
                variants={**info.variants, **given.variants},
                closing_tools=given.closing_tools or info.closing_tools,
                takes=frozenset(given.takes) if given.takes is not None else info.takes,
            )
        return model, info

    def _news(self, session: Session, number: int) -> Iterator[Notice]:
        """What there is to know of instructions and of tools that come and go, as far as this session was not told."""
        servers = self.toolset.more.news(self.toolset.own) if self.toolset.more is not None else ()
        news = [*(("mcp", text) for text in servers), *(("instructions", text) for text in self.user.news())]
        told = {part.text for part in session.parts.values() if isinstance(part, Notice)} if news else set()
        for place, (about, text) in enumerate(news):
            if text not in told:
                yield Notice(notice_id(number, about, place), about, text)

    def verdict(self, access: Access, agent: AgentDefinition) -> Verdict:
        """What the rules of a person's own turn with this agent say to something; an always answers an ask."""
        own = self._rules(agent)
        stricter = (judge(each, access, default="allow") for each in (*self.restrictions, self.user.stricter))
        found = strictest((judge(own, access), *stricter))
        saved = Approvals(self.user.approvals, self.directory).all() if self.user.approvals is not None else ()
        return "allow" if found == "ask" and any(covers(each, access) for each in saved) else found

    def bounds_of(self, agent: AgentDefinition, delegation: Delegation | None = None) -> tuple[int, Limits]:
        """The cap on an agent's steps and its other limits, for a person's turn or, with a mandate, a subagent's."""
        try:
            limits, cap, _ = turn_limits(self.settings, TurnOptions(delegation=delegation), agent, 1)
        except ConfigError:
            return 0, agent.limits
        return cap, limits

    def _may_start(self, start: TurnStart, agent: AgentDefinition) -> dict[str, str]:
        above = start.delegation.rules if start.delegation is not None else ()
        described = {name: self.agents[name].description for name in self.subagents or ()}
        return startable(described, (self._rules(agent), *self.restrictions, self.user.stricter, *above))

    def _system(
        self,
        session: Session,
        agent: AgentDefinition,
        options: TurnOptions,
        info: ModelInfo,
        tools: Sequence[str],
        *,
        asks_for_output: bool,
    ) -> str:
        assert session.info is not None
        today = datetime.fromtimestamp(self.seams.clock.wall(), UTC).date().isoformat()
        environment = f"Directory: {session.info.directory}\nPlatform: {platform.system()}\nDate: {today}"
        return system_prompt(
            header=(self.settings.providers.get(info.ref.partition("/")[0]) or Provider()).header,
            agent=words_of(agent, info),
            environment=environment + (SHUT_IN if "bash" in tools and self.commands.sandboxed else ""),
            instructions=(
                *((self.user.instructions(),) if self.user.instructions is not None else ()),
                *((listed(self.user.skills),) if "skill" in tools else ()),
                *((self.toolset.more.instructions(),) if self.toolset.more is not None else ()),
                *((INSTRUCTION,) if asks_for_output else ()),
            ),
            call=options.system,
            user=self.settings.prompts.system,
        )

    def equip(self, session: Session, start: TurnStart) -> TurnSetup:
        assert session.info is not None
        agent = self.agents.get(start.agent) or AgentDefinition(start.agent)
        start = msgspec.structs.replace(start, tools=self.toolset.still(agent, start))
        model, info = self._model(start.model)
        retry = self.settings.retry
        subagents = self._may_start(start, agent)
        reads_only = agent.reads_only or (start.delegation is not None and start.delegation.reads_only)
        own, stricter, saved = self._rules(agent), (*self.restrictions, self.user.stricter), self.user.approvals
        return TurnSetup(
            model=delegating(model, session),
            info=info,
            tools=self.toolset.equipped(agent.name, start.tools, subagents),
            rules=own,
            restrictions=stricter,
            directory=Path(session.info.directory),
            layers=start.delegation.rules if start.delegation is not None else (),
            prompts=spoken(self.settings.prompts, self.agents),
            ceiling=self.settings.behavior.ceiling,
            subagents=subagents,
            max_depth=self.settings.tree.depth,
            without=self.toolset.kept_from(agent, start),
            tree=accounts_of(self.settings, start)[0].tree or UNLIMITED,
            tree_cost=limits_tree_cost(self.settings),
            prunes=self.settings.compaction.prune,
            environment=self.commands_environment(),
            guarded=(*self.user.guarded, *self.commands.guarded_in(session.info.directory), *self._skill_folders()),
            readable=self._readable(session.info.id),
            output=OutputSchema(start.output) if start.output is not None else None,
            hooks=self.settings.hooks,
            formatters=self.settings.formatters,
            diagnostics=self.settings.diagnostics,
            options=self._options(info, agent, start.variant),
            retry=RetryPolicy(retry.retries, retry.total_seconds, retry.longest_wait),
            deadlines=self._deadlines(start.model),
            store_output=self._store if self.outputs is not None else None,
            output_file=self._output_file if self.outputs is not None else None,
            reads_only=reads_only,
            small=small_model(self.settings.small_model, self._model),
            snapshots=None if reads_only else self.user.files,
            find_sandbox=self.commands.finder(session.info.id, read_only=reads_only, rules=(*own, *chain(*stricter))),
            bounds=self.commands.bounds(),
            approvals=Approvals(saved, Path(session.info.directory)) if saved is not None else None,
            backgrounds=self.commands.backgrounds,
        )

    def _deadlines(self, ref: str) -> Deadlines:
        """How long requests may take: as for all, but for what is set for this provider."""
        given, own = self.settings.deadlines, self.settings.providers.get(ref.partition("/")[0]) or Provider()
        return Deadlines(
            own.first_event_seconds or given.first_event_seconds,
            own.idle_seconds or given.idle_seconds,
            own.request_seconds or given.request_seconds,
        )

    def _readable(self, session: str) -> tuple[Path, ...]:
        outputs = (self.outputs / session,) if self.outputs is not None else ()
        return (*outputs, *self._skill_folders())

    def _skill_folders(self) -> tuple[Path, ...]:
        return tuple(skill.folder.resolve() for skill in self.user.skills.values() if skill.outside is None)

    def _rules(self, agent: AgentDefinition) -> tuple[Rule, ...]:
        runs = "bash" in self.toolset.all(agent.name)
        return rules(self.settings.permission, agent, sandboxed=runs and self.commands.sandboxed)

    def commands_environment(self) -> dict[str, str] | None:
        """What commands get: no keys, and nothing else that is called a secret, but for what the user lets pass."""
        if self.environment is None:
            return None
        known = {provider.key_env for provider in self.settings.providers.values()}
        return without_secrets(self.environment, known=known, passes=self.settings.shell.passes)

    def _store(self, session: str, call: str, text: str) -> str:
        assert self.outputs is not None
        path = Path(self._output_file(session, call))
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8", errors="replace")
        return str(path)

    def _output_file(self, session: str, call: str) -> str:
        assert self.outputs is not None
        folder = self.outputs / session
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return str(folder / f"{call}.txt")
