"""`SettingsTurns`: sets up new, resumed, handed-over turns (agent, model, tools, rules, limits, prompt); runs none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec

from bridle.assembly import model_setup
from bridle.assembly.command_environment import CommandEnvironment
from bridle.assembly.handoffs import handoff_to, possible_heirs, prompt_of_turn
from bridle.assembly.hooks import turn_hooks
from bridle.assembly.limits import accounts_of, budget_in, limits_cost_above, turn_limits
from bridle.assembly.models import Models
from bridle.assembly.prompts import agent_prompt, agent_switch, environment_text, occasion_prompts
from bridle.assembly.toolset import Toolset, allowed_subagents, extra_tools
from bridle.assembly.user_setup import UserSetup
from bridle.config.agents import rules
from bridle.config.approvals import Approvals
from bridle.config.model_checks import check_files, need_prices
from bridle.config.settings import Settings
from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.budget import Budget
from bridle.core.ids import account_id, notice_id, turn_part_id
from bridle.core.inbox import PromptItem, TurnOptions
from bridle.core.ledger import Account
from bridle.core.limits import UNLIMITED, Limits
from bridle.core.parts import Delegation, Handoff, Notice, TurnStart
from bridle.core.permission import Access, Rule, Verdict, covers, judge, strictest
from bridle.core.retry import RetryPolicy
from bridle.core.session import Session
from bridle.core.system_prompt import system_prompt
from bridle.errors import ConfigError
from bridle.journal.journal import Journal
from bridle.model.model import Model
from bridle.seams import Seams
from bridle.tools.output_buffer import OutputFolder
from bridle.turn.active_turn import Opening
from bridle.turn.caller import Program
from bridle.turn.delegate_prompt import delegating
from bridle.turn.output_schema import INSTRUCTION, OutputSchema
from bridle.turn.setup import ModelSetup, PermissionSetup, ToolSetup, TurnSetup

ALIASES = frozenset({"sonnet", "opus", "haiku"})


class TurnChoice(NamedTuple):
    """The validated choices of a prompt: its agent, its model, and its turn without tools and system prompt."""

    agent: AgentDefinition
    info: ModelInfo
    start: TurnStart
    notices: tuple[Notice, ...]


@dataclass(slots=True, frozen=True, kw_only=True)
class SettingsTurns:
    """Implements `TurnFactory` from the settings."""

    settings: Settings
    models: Models
    agents: Mapping[str, AgentDefinition]
    subagents: Mapping[str, str]
    """The agents that a `task` call may start, with their descriptions."""
    toolset: Toolset
    restrictions: tuple[tuple[Rule, ...], ...]
    """Lists of rules that can only make the others stricter."""
    commands: CommandEnvironment
    user: UserSetup
    seams: Seams
    directory: Path
    outputs: OutputFolder | None
    journal: Journal
    account: str = ""
    """The name that pays for root turns whose prompt and session name none; empty for the user."""
    program: Program | None = None
    """The Python program around the runtime."""

    async def check(self, session: Session, item: PromptItem) -> None:
        options = item.options or TurnOptions()
        for ref in self._references(session, options):
            await self.models.prepare(ref)
        paid = await self._costs_are_limited(session, options)
        choice = self._choice(session, item, session.turns + 1, paid=paid)
        self._rules(choice.agent)
        paid = paid or self._limits_cost(choice.start.limits)
        for agent in possible_heirs(choice.agent, self.recorded_agent):
            own = self._own_model(agent)
            refs = (own, *agent.fallback) if own else (choice.info.ref,)
            for ref in refs:
                await self.models.prepare(ref)
            if paid or agent.limits.cost is not None:
                need_prices(self._model(ref)[1] for ref in refs)

    def _limits_cost(self, limits: Limits) -> bool:
        """Return whether these limits of a turn, or those of the tree, limit the cost."""
        return limits.cost is not None or self.settings.tree.cost is not None

    async def open(self, session: Session, item: PromptItem, number: int) -> Opening:
        options = item.options or TurnOptions()
        delegated = options.delegation is not None
        await self.toolset.prepare(self._agent_name(session, options), delegated=delegated)
        if not delegated:
            await self.user.prepare()
        try:
            paid = await self._costs_are_limited(session, options)
            told = await self._told(session, item, number)
            return self.opening(session, item, number, told=told, paid=paid)
        except ConfigError as error:
            start = TurnStart(
                turn_part_id(number, "start"),
                number,
                agent=options.agent or "",
                model=options.model or "",
                cap=0,
                limits=Limits(),
                on_ask="deny",
                account=_account(session, number),
                delegation=options.delegation,
            )
            above = options.delegation.account if options.delegation is not None else None
            return Opening(start, (Account(start.account, above),), problem=str(error))

    async def hand_over(self, session: Session, id: str, agent: str) -> Handoff:
        assert session.turn is not None
        turn, heir = session.turn, self.recorded_agent(agent)
        own = self._own_model(heir)
        given = (turn.start.model, *(each.model for each in turn.start.fallbacks))
        refs = (own, *heir.fallback) if own else given
        for ref in refs:
            await self.models.prepare(ref)
        item = prompt_of_turn(session, turn, agent, refs)
        told = await self._told(session, item, turn.start.number)
        paid = await self._costs_are_limited(session, item.options or TurnOptions())
        # The other agent's model need not accept the files of the prompt: it reads their names.
        item = msgspec.structs.replace(item, files=())
        opened = self.opening(session, item, turn.start.number, told=told, paid=paid).start
        return handoff_to(id, heir, opened, turn.start)

    async def _told(self, session: Session, item: PromptItem, number: int) -> str | None:
        """Return the instructions that the program has for a turn, instead of those of the agent's definition."""
        agent = self._agent(session, item.options or TurnOptions()).name
        return await self.program.instructions(session, agent, item, number) if self.program is not None else None

    def opening(
        self, session: Session, item: PromptItem, number: int, *, told: str | None = None, paid: bool = False
    ) -> Opening:
        """Return the turn that a prompt would open now; raises `ConfigError`.

        `told` are instructions instead of those of the agent's definition. `paid`: an account above limits its cost.
        """
        choice, options = self._choice(session, item, number, paid=paid), item.options or TurnOptions()
        agent = choice.agent
        tools = tuple(self.toolset.offered(agent, options, choice.info, self._rules(agent), session.info))
        system = self._system(session, choice, options, tools, told)
        system = system if system != session.system else ""
        extra = extra_tools(agent, tools)
        start = msgspec.structs.replace(choice.start, tools=tools, system=system, asked_tools=extra)
        notices = (*choice.notices, *self._news(session, number, choice, delegated=options.delegation is not None))
        if options.delegation is None:
            notices = (*notices, *agent_switch(session.turn.start if session.turn else None, agent, number))
        return Opening(start, accounts_of(self.settings, start), notices)

    async def _costs_are_limited(self, session: Session, options: TurnOptions) -> bool:
        """Return whether an account above the turn limits its cost."""
        if options.delegation is not None:
            return await limits_cost_above(self.journal, options.delegation.account)
        owner = self._owner(session, options)
        stored = await self.journal.budgets(owner) if owner else []
        return (stored[0].budget if stored else budget_in(self.settings)).limits_cost

    def _owner(self, session: Session, options: TurnOptions) -> str:
        """Return the name that pays for a turn; empty for the user, and for a subagent, whose root pays."""
        if options.delegation is not None:
            return ""
        return options.account or (session.turn.start.owner if session.turn is not None else "") or self.account

    def _choice(self, session: Session, item: PromptItem, number: int, *, paid: bool) -> TurnChoice:
        """Return the choices of a prompt; raises `ConfigError` if its turn cannot begin."""
        options, before = item.options or TurnOptions(), session.turn.start if session.turn is not None else None
        agent = self._agent(session, options)
        ref, *others = self._references(session, options)
        notices: tuple[Notice, ...] = ()
        if ref is None:
            ref, why = self.models.choose()
            notices = (Notice(notice_id(number, "model"), "model", f"model {ref}: {why}"),)
        _, info = self._model(ref)
        check_files(info, item.files)
        occasion_prompts(self.settings.prompts, self.agents)
        variant = options.variant or (before.variant if before is not None and before.model == ref else "")
        variant = variant or (agent.variant if agent.variant in info.variants else "")
        model_setup.model_options(info, agent, variant, options.options)
        infos = {other: self._model(other)[1] for other in others if other is not None and other != ref}
        limits, told = turn_limits(self.settings, options, agent, number)
        if paid or self._limits_cost(limits):
            need_prices((info, *infos.values()))
        output = options.output if options.output is not None else agent.output
        if output is not None:
            OutputSchema(output).check()
        start = TurnStart(
            turn_part_id(number, "start"),
            number,
            agent=agent.name,
            model=ref,
            cap=limits.steps or 0,
            limits=msgspec.structs.replace(limits, steps=None),
            on_ask=options.on_ask or "deny",
            account=_account(session, number),
            at=round(self.seams.clock.wall(), 3),
            delegation=options.delegation,
            window=info.context_window,
            compact_at=model_setup.compaction_threshold(self.settings, info),
            variant=variant,
            output=dict(output) if output is not None else None,
            options=options.options,
            owner=self._owner(session, options),
            more_system=options.system if agent.handoffs else "",
            tool_switches=dict(options.tools) if agent.handoffs else {},
            fallbacks=model_setup.fallbacks(self.settings, infos),
        )
        return TurnChoice(agent, info, start, (*notices, *told))

    def _agent(self, session: Session, options: TurnOptions) -> AgentDefinition:
        name = self._agent_name(session, options)
        if name not in self.agents:
            raise ConfigError(f"there is no agent {name!r} (known: {', '.join(sorted(self.agents))})")
        return self.agents[name]

    def _agent_name(self, session: Session, options: TurnOptions) -> str:
        last, info = session.turn, session.info
        before = last.start.agent if last is not None else info.agent if info is not None else ""
        return options.agent or before or self.settings.agent

    def recorded_agent(self, name: str) -> AgentDefinition:
        """Return the agent that a recorded turn names, or an empty definition if it no longer exists."""
        return self.agents.get(name) or AgentDefinition(name)

    def _references(self, session: Session, options: TurnOptions) -> tuple[str | None, ...]:
        """Return the references of a turn's model, None if one has to be chosen, and of the fallbacks given with it."""
        agent = self.recorded_agent(self._agent_name(session, options))
        own = self._own_model(agent), agent.fallback
        return model_setup.references(options, session, own, (self.settings.model, self.settings.fallback))

    def _own_model(self, agent: AgentDefinition) -> str | None:
        return self.models.alias(agent.model) if agent.model in ALIASES else agent.model

    def _model(self, ref: str) -> tuple[Model, ModelInfo]:
        model, info = self.models.find(ref)
        return model, model_setup.adjusted(info, self.settings.models.get(ref))

    def _rules(self, agent: AgentDefinition) -> tuple[Rule, ...]:
        """Return the rules of an agent; raises `ConfigError` if its commands require a sandbox and there is none."""
        sandboxed = self.toolset.runs_commands(agent.name) and self.commands.sandboxed
        return rules(self.settings.permission, agent, sandboxed=sandboxed)

    def _approvals(self, directory: Path) -> Approvals | None:
        """Return the permanent approvals of a project; None if they end with their session."""
        return Approvals(self.user.approvals, directory) if self.user.approvals is not None else None

    def _news(self, session: Session, number: int, choice: TurnChoice, *, delegated: bool) -> Iterator[Notice]:
        """Yield notices about instructions, tools and the model that this session has not had yet."""
        given = {
            "mcp": self.toolset.news(choice.agent.name, delegated=delegated),
            "instructions": () if delegated else self.user.news(),
            "small": model_setup.small_news(choice.info),
        }
        news = [(about, text) for about, texts in given.items() for text in texts]
        told = {part.text for part in session.parts.values() if isinstance(part, Notice)} if news else set()
        for place, (about, text) in enumerate(news):
            if text not in told:
                yield Notice(notice_id(number, about, place), about, text)

    def _system(
        self, session: Session, choice: TurnChoice, options: TurnOptions, tools: tuple[str, ...], told: str | None
    ) -> str:
        assert session.info is not None
        user, sandboxed = self.user, "bash" in tools and self.commands.sandboxed
        instructions = (
            user.instructions() if user.instructions is not None else "",
            user.skill_list() if "skill" in tools else "",
            self.toolset.instructions(choice.agent.name),
            INSTRUCTION if choice.start.output is not None else "",
        )
        return system_prompt(
            header=model_setup.provider_of(self.settings, choice.info.ref).header,
            agent=agent_prompt(choice.agent, choice.info) if told is None else told,
            environment=environment_text(
                choice.agent, session.info.directory, self.seams.clock.wall(), sandboxed=sandboxed
            ),
            instructions=instructions,
            call=options.system,
            user=self.settings.prompts.system,
        )

    def verdict(self, access: Access, agent: AgentDefinition) -> Verdict:
        """Return the verdict on an access in a root turn; a permanent approval turns "ask" into "allow"."""
        stricter = (judge(each, access, default="allow") for each in self.restrictions)
        found = strictest((judge(self._rules(agent), access), *stricter))
        saved = self._approvals(self.directory)
        return "allow" if found == "ask" and saved and any(covers(each, access) for each in saved.all()) else found

    def bounds_of(self, agent: AgentDefinition, delegation: Delegation | None = None) -> Limits:
        """Return an agent's limits, in a root turn or as a subagent."""
        try:
            return turn_limits(self.settings, TurnOptions(delegation=delegation), agent, 1)[0]
        except ConfigError:
            return msgspec.structs.replace(agent.limits, steps=0)

    def restore(self, session: Session, start: TurnStart) -> TurnSetup:
        assert session.info is not None
        agent = self.recorded_agent(start.agent)
        start = msgspec.structs.replace(start, tools=self.toolset.remaining(agent, start))
        read_only = agent.reads_only or (start.delegation is not None and start.delegation.reads_only)
        permissions = self._permissions(session.info.id, start, agent, Path(session.info.directory))
        judged = (*permissions.rules, *chain(*permissions.restrictions))
        commands = self.commands.setup(
            session.info, read_only=read_only, rules=judged, guarded=self.user.skill_folders()
        )
        toolset = self._tools(session, start, agent, permissions)
        return TurnSetup(
            models=self._model_setups(session, start, agent),
            permissions=permissions,
            toolset=toolset,
            commands=commands,
            ceiling=self.settings.behavior.ceiling,
            max_depth=self.settings.tree.depth,
            tree=accounts_of(self.settings, start)[0].tree or UNLIMITED,
            limited_above=bool(start.owner)
            or self.settings.tree.cost is not None
            or budget_in(self.settings) != Budget(),
            prunes=self.settings.compaction.prune,
            hooks=turn_hooks(self.settings.hooks, toolset.caller, (session.info.id, start), commands, permissions),
            snapshots=None if read_only else self.user.files,
            outputs=self.outputs,
        )

    async def attach(self, session: Session) -> None:
        if self.program is not None and session.running is not None:
            await self.program.attach(session, session.running.start)

    async def release(self, session: str) -> None:
        if self.program is not None:
            await self.program.release(session)

    def _model_setups(self, session: Session, start: TurnStart, agent: AgentDefinition) -> dict[str, ModelSetup]:
        """Return the models of a turn; raises `ConfigError` if the one that is asked is not available."""
        assert session.turn is not None
        found: dict[str, ModelSetup] = {}
        for ref in session.turn.candidates:
            try:
                found[ref] = self._model_setup(session, start, agent, ref)
            except ConfigError:
                if ref == session.turn.model:
                    raise
        return found

    def _model_setup(self, session: Session, start: TurnStart, agent: AgentDefinition, ref: str) -> ModelSetup:
        model, info = self._model(ref)
        retry = self.settings.retry
        variant = start.variant if ref == start.model or start.variant in info.variants else ""
        return ModelSetup(
            model=delegating(model, session),
            info=info,
            prompts=occasion_prompts(self.settings.prompts, self.agents),
            options=model_setup.model_options(info, agent, variant, start.options),
            retry=RetryPolicy(retry.retries, retry.total_seconds, retry.longest_wait),
            deadlines=model_setup.deadlines(self.settings, ref),
            small=model_setup.small_model(self.settings.small_model, self._model),
        )

    def _permissions(self, session: str, start: TurnStart, agent: AgentDefinition, directory: Path) -> PermissionSetup:
        outputs = (self.outputs.path / session,) if self.outputs is not None else ()
        return PermissionSetup(
            rules=self._rules(agent),
            restrictions=self.restrictions,
            layers=start.delegation.rules if start.delegation is not None else (),
            readable=(*outputs, *self.user.skill_folders()),
            approvals=self._approvals(directory),
        )

    def _tools(self, session: Session, start: TurnStart, agent: AgentDefinition, given: PermissionSetup) -> ToolSetup:
        names = self.subagents if agent.subagents is None else agent.subagents
        mine = {name: told for name, told in self.subagents.items() if name in names}
        subagents = allowed_subagents(mine, (given.rules, *given.restrictions, *given.layers))
        return ToolSetup(
            tools=self.toolset.named(agent.name, start.tools, subagents),
            subagents=subagents,
            without=self.toolset.withheld(agent, start),
            output=OutputSchema(start.output) if start.output is not None else None,
            caller=self.program.caller(session, start) if self.program is not None else None,
        )


def _account(session: Session, number: int) -> str:
    assert session.info is not None
    return account_id(session.info.id, number)
