"""A project and its user: what was approved there for good, and whether its files are trusted."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from bridle.assembly.command_environment import command_environment_for
from bridle.assembly.sandbox_summary import effective_sandbox
from bridle.config.approvals import Approvals, described
from bridle.config.json_store import JsonStore
from bridle.config.load import approvals_file, config_home, data_home, load, state_home, trust_file
from bridle.config.trust import Trust, TrustState, fingerprint, project_root
from bridle.errors import ConfigError
from bridle.process.sandbox import sandbox_program
from bridle.workspace.open_beneath import kernel_resolves

TRUST_WORDS: dict[TrustState, str] = {
    "trusted": "trusted, as it is now",
    "changed": "not trusted: it has changed since",
    "declined": "not trusted, as you said",
    "unknown": "not trusted (`bridle trust`)",
}


class ShownNotices(msgspec.Struct, frozen=True):
    """Digests of the notices that were shown while a project's files had this fingerprint."""

    fingerprint: str
    notices: tuple[str, ...] = ()


Shown = dict[str, ShownNotices]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


class ProjectAccess:
    """What the user has said about one project."""

    def __init__(self, directory: str | Path = ".", environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self.directory = Path(directory).absolute()
        self.root = project_root(self.directory)
        self._approvals = Approvals(approvals_file(self._environment), self.directory)
        self._trust = Trust(trust_file(self._environment))

    def approvals(self) -> list[str]:
        """What always passes here, in words."""
        return [described(access) for access in self._approvals.all()]

    def revoke(self, number: int | None) -> list[str]:
        """Forget one of them, counted from 1, or all."""
        return [described(access) for access in self._approvals.revoke(number)]

    def state(self) -> TrustState:
        return self._trust.state(self.root)

    def ignored(self) -> tuple[str, ...]:
        """What trust would grant to the project's files, in words, permissions first."""
        return load(self.directory, environment=self._environment).ignored

    def news(self, notices: Sequence[str]) -> tuple[str, ...]:
        """The notices that were not shown since the project's files last changed; from now on they count as shown."""
        if not notices:
            return ()
        shown = JsonStore(state_home(self._environment) / "shown.json", Shown, {})
        fresh: list[str] = []

        def change(table: Shown) -> Shown:
            now = fingerprint(self.root)
            before = table.get(str(self.root), ShownNotices(now))
            known = before.notices if before.fingerprint == now else ()
            fresh.extend(notice for notice in dict.fromkeys(notices) if _digest(notice) not in known)
            return {**table, str(self.root): ShownNotices(now, (*known, *map(_digest, fresh)))}

        try:
            shown.change(change)
        except ConfigError:
            # A folder that cannot be written remembers nothing, and a damaged file neither: all of them are news.
            return tuple(notices)
        return tuple(fresh)

    def sandbox(self) -> list[tuple[bool, str]]:
        """What commands can write, read and not see in this project, as it is now, and why."""
        loaded = load(self.directory, environment=self._environment)
        homes = (config_home, data_home, state_home)
        guarded = tuple(home(self._environment).resolve() for home in homes)
        commands = command_environment_for(loaded.settings, self._environment, guarded, None, self.directory)
        return effective_sandbox(commands, self.directory)

    def in_force(self) -> list[tuple[bool, str]]:
        """What holds commands and files here: whether each piece is there, and the words for it."""
        loaded = load(self.directory, environment=self._environment)
        mode = loaded.settings.sandbox.mode
        program, why_not = sandbox_program()
        shut_in = bool(program) and mode != "off"
        sandbox = (
            f"commands run in a sandbox ({program})" if shut_in else f"no sandbox: {why_not or 'it is switched off'}"
        )
        walk = "the kernel walks paths" if kernel_resolves() else "paths are walked step by step"
        found = [(bool(shutil.which(name)), name) for name in ("git",)]
        return [
            (shut_in, sandbox),
            (True, f"files are reached by handle: {walk}"),
            *(
                (there, f"{name} is {'there' if there else 'missing: apt-get install ' + name}")
                for there, name in found
            ),
            (True, f"this project is {TRUST_WORDS[self.state()]}"),
            (True, f"{len(self.approvals())} approvals for good (`bridle permissions`)"),
        ]

    def trust(self) -> None:
        """Let the project's files count, as they are now."""
        self._trust.give(self.root)

    def decline(self) -> None:
        """Do not, and do not ask or warn again until they change."""
        self._trust.decline(self.root)
        self.news(load(self.directory, environment=self._environment).notices)

    def distrust(self) -> bool:
        """Let them count no more; False if they did not."""
        return self._trust.take(self.root)
