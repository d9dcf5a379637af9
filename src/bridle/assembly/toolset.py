"""`Toolset`: the tools of a runtime, and which of them a turn offers, by rules, agent, model and options; runs none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.events import SessionInfo
from bridle.core.inbox import TurnOptions
from bridle.core.parts import TurnStart
from bridle.core.permission import Access, Rule, denied_outright, judge, matches
from bridle.tools.task import task_tool
from bridle.tools.tool import Tool, asks, is_built_in

PATCHES = re.compile(r"(^|/)(gpt-(?!4|3|oss)|codex|o[34](-|$))")
EDITORS = frozenset({"edit", "write", "apply_patch"})
SMALL_TOOLS = ("read", "write", "edit", "bash")
"""The built-in tools that are offered to a small model without a request."""


class ToolSource(Protocol):
    """A source of tools that may change while a runtime is open."""

    async def prepare(self) -> None:
        """Wait a short while for tools that are not known yet. Never raises."""

    def tools(self, taken: Mapping[str, Tool]) -> Mapping[str, Tool]:
        """Return the current tools by name; `taken` are the other tools, whose names must not be used again."""

    def instructions(self) -> str:
        """Return the instructions of the source for the model."""

    def news(self, taken: Mapping[str, Tool]) -> Sequence[str]:
        """Return notices for the user about the tools."""


@dataclass(slots=True, frozen=True)
class Toolset:
    """All tools of a runtime."""

    own: Mapping[str, Tool]
    built_in: frozenset[str]
    """Tools that are offered to a small model only on request."""
    source: ToolSource | None = None
    private: Mapping[str, Mapping[str, Tool]] = field(default_factory=dict)
    """The tools of single agents, by the agent's name. Their names are local to the agent."""
    private_sources: Mapping[str, ToolSource] = field(default_factory=dict)
    """The tool sources of single agents, by the agent's name."""

    def all(self, agent: str) -> Mapping[str, Tool]:
        """Return all current tools of an agent; its private tools come first and replace others of the same name."""
        shared = {**self.own, **self.source.tools(self.own)} if self.source is not None else self.own
        private = self._private(agent)
        return {**private, **shared, **private} if private else shared

    def _private(self, agent: str) -> Mapping[str, Tool]:
        """Return the current tools that only this agent has."""
        own, source = self.private.get(agent, {}), self.private_sources.get(agent)
        return {**own, **source.tools({**self.own, **own})} if source is not None else own

    def runs_commands(self, agent: str) -> bool:
        """Return whether this agent has `bash`. A source has no tool of that name."""
        return "bash" in self.own or "bash" in self.private.get(agent, {})

    def _sources(self, agent: str, *, delegated: bool) -> Iterator[ToolSource]:
        """Yield the tool sources of an agent. The turn above a delegated one has dealt with the shared one."""
        for source in (None if delegated else self.source, self.private_sources.get(agent)):
            if source is not None:
                yield source

    async def prepare(self, agent: str, *, delegated: bool) -> None:
        """Wait a short while for tools that are not known yet."""
        for source in self._sources(agent, delegated=delegated):
            await source.prepare()

    def instructions(self, agent: str) -> str:
        """Return the instructions of the tool sources for the model."""
        said = (source.instructions() for source in self._sources(agent, delegated=False))
        return "\n\n".join(filter(None, said))

    def news(self, agent: str, *, delegated: bool) -> Sequence[str]:
        """Return notices for the user about changed tools."""
        taken = {**self.own, **self.private.get(agent, {})}
        return [line for source in self._sources(agent, delegated=delegated) for line in source.news(taken)]

    def offered(
        self,
        agent: AgentDefinition,
        options: TurnOptions,
        info: ModelInfo,
        rules: Sequence[Rule],
        session: SessionInfo | None,
    ) -> list[str]:
        """Return the names of the tools that a new turn offers to its model."""
        wanted = {**agent.tools, **options.tools}
        denied = dict.fromkeys(session.denied if session is not None else (), False)
        without = options.delegation.without if options.delegation is not None else ()
        built_in, unused = self._built_in(agent.name), self._unused_editors(agent, info.ref)
        return [
            name
            for name, tool in self.all(agent.name).items()
            if _wanted(wanted, name)
            and not denied_outright(rules, tool.permission)
            and _offered(agent, name)
            and name not in without
            and _wanted(denied, name)
            and (name in wanted or name not in unused)
            and (not asks(tool) or options.on_ask in ("person", "pause"))
            and (not info.small or name in SMALL_TOOLS or name in wanted or name not in built_in)
        ]

    def remaining(self, agent: AgentDefinition, start: TurnStart) -> tuple[str, ...]:
        """Return the tools that a recorded turn offered, without those that its agent no longer has."""
        return tuple(
            name
            for name in start.tools
            if _offered(agent, name) and (name in start.asked_tools or _wanted(agent.tools, name))
        )

    def named(self, agent: str, names: Sequence[str], subagents: Mapping[str, str]) -> dict[str, Tool]:
        """Return the tools of these names; `task` lists the subagents of the turn, and is left out without any."""
        there = self.all(agent)
        tools = {name: there[name] for name in names if name in there}
        if "task" in tools and tools["task"].starts_child:
            # In place, so that the order of the tools stays as the turn recorded it.
            tools |= subagent_tools(subagents)
            if not subagents:
                del tools["task"]
        return tools

    def _built_in(self, agent: str) -> frozenset[str]:
        """Return the names under which an agent has built-in tools, and not tools of its own."""
        private = self.private.get(agent, {})
        return self.built_in - private.keys() | {name for name, tool in private.items() if is_built_in(tool)}

    def _unused_editors(self, agent: AgentDefinition, ref: str) -> frozenset[str]:
        """Return the built-in edit tools that a model does not use: some models write patches, most edit.

        An agent that offers editors by name gets those; the tools of a program are a choice of all of them.
        """
        private = self.private.get(agent.name, {})
        chosen = self._built_in(agent.name) if agent.offers is None else self._built_in(agent.name) & private.keys()
        unused = EDITORS - {"apply_patch"} if PATCHES.search(ref) else frozenset({"apply_patch"})
        return unused if chosen >= EDITORS else frozenset()

    def withheld(self, agent: AgentDefinition, start: TurnStart) -> tuple[str, ...]:
        """Return the tools forbidden to this turn and its subagents, without those that it merely does not use."""
        there, unused = self.all(agent.name), self._unused_editors(agent, start.model)
        if not EDITORS - unused <= {*start.tools}:
            unused = frozenset()
        used = agent.offers if agent.offers is not None and not agent.bound else there
        banned = [
            name
            for name in there
            if name not in start.tools
            and name in used
            and not (name in unused and _wanted(agent.tools, name))
            and self._others_have(agent, name)
        ]
        above = start.delegation.without if start.delegation is not None else ()
        return (*above, *(name for name in banned if name not in above))

    def _others_have(self, agent: AgentDefinition, name: str) -> bool:
        """Return whether another agent may have this same tool, and not only one of the same name."""
        mine = self._private(agent.name).get(name)
        others = (tools[name] for other, tools in self.private.items() if other != agent.name and name in tools)
        return mine is None or any(tool.spec == mine.spec for tool in others)


def described_subagents(agents: Mapping[str, AgentDefinition], names: Sequence[str] | None) -> dict[str, str]:
    """Return the descriptions of the agents that a `task` call may start; None means all whose mode allows it."""
    if names is None:
        names = [agent.name for agent in agents.values() if agent.mode != "primary" and not agent.hidden]
    return {name: agents[name].description for name in names}


def subagent_tools(subagents: Mapping[str, str]) -> dict[str, Tool]:
    """Return the tool that starts subagents, if there are any."""
    return {"task": task_tool(subagents)} if subagents else {}


def handoffs(agents: Mapping[str, AgentDefinition], agent: str) -> dict[str, Tool]:
    """Return the tools by which an agent hands over to others."""
    # Imported here because most runtimes have no such agent.
    from bridle.tools.handoff import handoff_tools

    return handoff_tools({name: agents[name].description for name in agents[agent].handoffs})


def allowed_subagents(described: Mapping[str, str], layers: Sequence[Sequence[Rule]]) -> dict[str, str]:
    """Return the subagents that no layer of rules denies, with their descriptions."""
    return {
        name: words
        for name, words in described.items()
        if all(judge(rules, Access("task", name), default="allow") != "deny" for rules in layers)
    }


def extra_tools(agent: AgentDefinition, chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the chosen tools that the agent has only because the options of the turn ask for them."""
    return tuple(name for name in chosen if not _wanted(agent.tools, name))


def _offered(agent: AgentDefinition, name: str) -> bool:
    return agent.offers is None or any(matches(each, name) for each in agent.offers)


def _wanted(wanted: Mapping[str, bool], name: str) -> bool:
    """Return whether a tool is enabled, by its name or by the last matching pattern; by default it is."""
    if name in wanted:
        return wanted[name]
    fitting = [given for pattern, given in wanted.items() if matches(pattern, name)]
    return fitting[-1] if fitting else True
