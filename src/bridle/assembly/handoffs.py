"""Prepares handoffs: finds the agents that a turn can reach, makes the prompt and the record of a takeover."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bridle.core.agent import AgentDefinition
from bridle.core.inbox import PromptItem, TurnOptions
from bridle.core.limits import Limits
from bridle.core.parts import Handoff, Prompt, TurnStart
from bridle.core.session import OpenTurn, Session


def possible_heirs(agent: AgentDefinition, find: Callable[[str], AgentDefinition]) -> list[AgentDefinition]:
    """Return all agents that a turn of an agent may be handed over to, directly or not."""
    found = [agent]
    for each in found:
        found += [heir for name in each.handoffs if (heir := find(name)) not in found]
    return found[1:]


def prompt_of_turn(session: Session, turn: OpenTurn, agent: str, models: Sequence[str]) -> PromptItem:
    """Return the prompt of a turn as if the agent that takes over had received it, with the options of the turn.

    `models` are the references of its model and of the fallbacks of that.
    """
    now = turn.start
    options = TurnOptions(
        agent=agent,
        model=models[0],
        fallbacks=tuple(models[1:]),
        limits=turn.limits.given,
        on_ask=now.on_ask,
        system=now.more_system,
        tools=now.tool_switches,
        output=now.output,
        delegation=now.delegation,
    )
    prompt = session.parts.get(turn.prompts[0]) if turn.prompts else None
    assert isinstance(prompt, Prompt)
    return PromptItem(prompt.id, prompt.text, prompt.files, options=options, metadata=prompt.metadata)


def handoff_to(id: str, heir: AgentDefinition, opened: TurnStart, now: TurnStart) -> Handoff:
    """Return the record of a handoff to an agent for which this turn would be opened."""
    return Handoff(
        id,
        heir.name,
        opened.model,
        opened.tools,
        opened.system,
        limits=Limits(steps=heir.steps).over(heir.limits),
        window=opened.window,
        compact_at=opened.compact_at,
        variant=opened.variant,
        asked_tools=opened.asked_tools,
        fallbacks=opened.fallbacks,
        options=now.options if opened.model == now.model else {},
    )
