"""`ProjectAccess`: lists and revokes a project's approvals, gives and withdraws trust, and describes its sandbox."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from bridle.assembly.command_environment import command_caches, command_environment_for
from bridle.assembly.sandbox_summary import effective_sandbox
from bridle.config.approvals import Approvals, described
from bridle.config.load import approvals_file, config_home, data_home, journal_place, load, state_home, trust_file
from bridle.config.trust import Trust, TrustState, fingerprint, project_root
from bridle.core.limits import counted
from bridle.errors import ConfigError
from bridle.process.sandbox import sandbox_program
from bridle.workspace.json_store import JsonStore
from bridle.workspace.open_beneath import kernel_resolves

TRUST_WORDS: dict[TrustState, str] = {
    "trusted": "trusted, as it is now",
    "changed": "not trusted: it has changed since",
    "declined": "not trusted: you declined it",
    "unknown": "not trusted (`bridle trust`)",
}


class ShownNotices(msgspec.Struct, frozen=True):
    """Digests of the notices that were shown while a project's files had this fingerprint."""

    fingerprint: str
    notices: tuple[str, ...] = ()


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


class ProjectAccess:
    """The permanent approvals and the trust of one project."""

    def __init__(self, directory: str | Path = ".", environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self.directory = Path(directory).absolute()
        self.root = project_root(self.directory)
        self._approvals = Approvals(approvals_file(self._environment), self.directory)
        self._trust = Trust(trust_file(self._environment))

    def approvals(self) -> list[str]:
        """Return the permanent approvals of the project, described in words."""
        return [described(access) for access in self._approvals.all()]

    def revoke(self, number: int | None) -> list[str]:
        """Revoke one approval, counted from 1, or all for None; return descriptions of the revoked ones."""
        return [described(access) for access in self._approvals.revoke(number)]

    def state(self) -> TrustState:
        return self._trust.state(self.root)

    def ignored(self) -> tuple[str, ...]:
        """Return the settings of the project's files that are ignored without trust, in words, permissions first."""
        return load(self.directory, environment=self._environment).ignored

    def news(self, notices: Sequence[str]) -> tuple[str, ...]:
        """Return the notices not shown since the project's files last changed, and record them as shown."""
        if not notices:
            return ()
        shown = JsonStore(state_home(self._environment) / "shown.json", dict[str, ShownNotices])
        fresh: list[str] = []

        def change(before: ShownNotices | None) -> ShownNotices:
            now = fingerprint(self.root)
            known = before.notices if before is not None and before.fingerprint == now else ()
            fresh.extend(notice for notice in dict.fromkeys(notices) if _digest(notice) not in known)
            return ShownNotices(now, (*known, *map(_digest, fresh)))

        try:
            shown.change(str(self.root), change)
        except ConfigError:
            # The record cannot be read or written, so every notice counts as new.
            return tuple(notices)
        return tuple(fresh)

    def sandbox(self) -> list[tuple[bool, str]]:
        """Return the files that sandboxed commands can write, read and not see in this project, and why."""
        loaded = load(self.directory, environment=self._environment)
        homes = (config_home, data_home, state_home)
        guarded = tuple(home(self._environment).resolve() for home in homes)
        caches = command_caches(self._environment)
        commands = command_environment_for(
            loaded.settings,
            self._environment,
            guarded,
            None,
            self.directory,
            caches=caches,
            journal=journal_place(loaded.settings, self._environment),
        )
        return effective_sandbox(commands, self.directory)

    def in_force(self) -> list[tuple[bool, str]]:
        """Return the protections in force here: for each, whether it is available, and its description."""
        mode = load(self.directory, environment=self._environment).settings.sandbox.mode
        program, why_not = sandbox_program(self.directory)
        shut_in = bool(program) and mode != "off"
        contained = f"commands run in a sandbox ({program})"
        walk = "the kernel walks paths" if kernel_resolves() else "paths are walked step by step"
        git = shutil.which("git") is not None
        return [
            (shut_in, contained if shut_in else f"no sandbox: {why_not or 'it is switched off'}"),
            (True, f"files are reached by handle: {walk}"),
            (git, "git is installed" if git else "git is not installed: apt-get install git"),
            (True, f"this project is {TRUST_WORDS[self.state()]}"),
            (True, f"{counted(len(self.approvals()), 'permanent approval')} (`bridle permissions`)"),
        ]

    def trust(self) -> None:
        """Trust the project's files in their current state."""
        self._trust.give(self.root)

    def decline(self) -> None:
        """Decline trust; the user is not asked or warned again until the files change."""
        self._trust.decline(self.root)
        self.news(load(self.directory, environment=self._environment).notices)

    def distrust(self) -> bool:
        """Withdraw trust; return False if there was none."""
        return self._trust.take(self.root)
