"""The permission rules of a runtime: those of settings and agents, and restrictions on top of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bridle.assembly.command_environment import CommandEnvironment
from bridle.config.agents import rules
from bridle.config.approvals import Approvals
from bridle.config.settings import AnyPermissions
from bridle.core.agent import AgentDefinition
from bridle.core.permission import Access, Rule, Verdict, covers, judge, strictest


@dataclass(slots=True, frozen=True)
class PermissionRules:
    """Decides which accesses an agent is allowed."""

    given: AnyPermissions
    stricter: tuple[tuple[Rule, ...], ...]
    """Lists of rules that can only make the others stricter."""
    approvals: Path | None
    """The file of permanent approvals."""
    commands: CommandEnvironment

    def rules(self, agent: AgentDefinition, *, runs_commands: bool) -> tuple[Rule, ...]:
        """Return the rules of an agent; raises `ConfigError` if its commands require a sandbox and there is none."""
        return rules(self.given, agent, sandboxed=runs_commands and self.commands.sandboxed)

    def approvals_in(self, directory: Path) -> Approvals | None:
        """Return the permanent approvals of a project; None if they end with their session."""
        return Approvals(self.approvals, directory) if self.approvals is not None else None

    def verdict(self, access: Access, own: tuple[Rule, ...], directory: Path) -> Verdict:
        """Return the verdict on an access in a root turn; a permanent approval turns "ask" into "allow"."""
        stricter = (judge(each, access, default="allow") for each in self.stricter)
        found = strictest((judge(own, access), *stricter))
        saved = self.approvals_in(directory)
        return "allow" if found == "ask" and saved and any(covers(each, access) for each in saved.all()) else found
