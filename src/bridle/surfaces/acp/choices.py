"""`Choices`: the agent, model and variant that an editor has chosen for a session, and what it may choose from."""

from __future__ import annotations

from collections.abc import Sequence

from bridle.core.inbox import TurnOptions
from bridle.errors import ConfigError
from bridle.runtime.project import AgentRow
from bridle.runtime.project_views import ModelRow
from bridle.surfaces.acp import answers as wire
from bridle.surfaces.shared.safe_text import line

DEFAULT = "default"


class Choices:
    """The agent, model and variant of the next prompts. Hidden agents and agents for `task` alone are left out."""

    def __init__(self, agents: Sequence[AgentRow], models: Sequence[ModelRow], agent: str, model: str) -> None:
        self._agents = {
            row.agent.name: row.agent for row in agents if row.agent.mode != "subagent" and not row.agent.hidden
        }
        self._models = {row.info.ref: row.info for row in models}
        self.agent = agent
        self.model = model
        self.variant = DEFAULT

    def turn_options(self) -> TurnOptions:
        """Return the options of a prompt."""
        variant = self.variant if self.variant != DEFAULT else None
        return TurnOptions(self.agent or None, self.model or None, "person", variant=variant)

    def choose(self, option: str, value: str) -> None:
        """Set an option; raises `ConfigError` for one that does not exist, or another value than those offered."""
        for each in self.options():
            if each.id == option:
                if value not in {known.value for known in each.options}:
                    raise ConfigError(f"{option}: {value!r} is not offered")
                break
        else:
            raise ConfigError(f"there is no option {option!r}")
        if option == "mode":
            self.agent = value
        elif option == "model":
            self.model, self.variant = value, DEFAULT
        else:
            self.variant = value

    def modes(self) -> wire.Modes:
        """Return the agents as modes."""
        modes = [
            wire.Mode(id=name, name=line(name), description=line(agent.description) or None)
            for name, agent in self._agents.items()
        ]
        return wire.Modes(current_mode_id=self.agent, available_modes=tuple(modes))

    def options(self) -> tuple[wire.SessionOption, ...]:
        """Return agent, model and, if the model has variants, its variant as options."""
        modes = tuple(
            wire.OptionValue(value=mode.id, name=mode.name, description=mode.description)
            for mode in self.modes().available_modes
        )
        found = [_select("mode", "Agent", "mode", self.agent, modes)]
        refs = list(self._models)
        if self.model and self.model not in refs:
            refs.insert(0, self.model)
        models = tuple(wire.OptionValue(value=ref, name=line(ref)) for ref in refs)
        if models:
            found.append(_select("model", "Model", "model", self.model, models))
        info = self._models.get(self.model)
        if info is not None and info.variants:
            names = (DEFAULT, *info.variants)
            values = tuple(wire.OptionValue(value=name, name=line(name)) for name in names)
            found.append(_select("effort", "Thinking", "thought_level", self.variant, values))
        return tuple(found)


def _select(id: str, name: str, category: str, value: str, values: tuple[wire.OptionValue, ...]) -> wire.SessionOption:
    return wire.SessionOption(id=id, name=name, category=category, current_value=value, options=values, type="select")
