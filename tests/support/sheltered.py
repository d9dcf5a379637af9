"""A person's machine: a home with secrets, a project under git, and commands that are shut in."""

import asyncio
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from bridle.assembly.command_environment import CommandEnvironment, command_caches
from bridle.config.settings import SandboxSettings
from bridle.tools.command_setup import CommandSetup
from bridle.tools.tool import Invocation, Output
from support.paths import ROOT
from support.session_tools import TOOLS

BASH = TOOLS["bash"]
NAMED = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


class Sheltered:
    """A person's machine: a home with secrets, a project under git, and commands that are shut in."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.home, self.project, self.other = folder / "home", folder / "project", folder / "other"
        for path in (self.home / ".ssh", self.home / ".cache", self.project, self.other, folder / "state" / "outputs"):
            path.mkdir(parents=True)
        (self.home / ".ssh" / "id_rsa").write_text("the private key\n")
        (self.home / ".netrc").write_text("the password\n")
        (folder / "state" / "journal.db").write_text("every session\n")
        (folder / "state" / "outputs" / "s").mkdir()
        (folder / "state" / "outputs" / "s" / "call.txt").write_text("a long output\n")
        subprocess.run(["git", "init", "-q", "-b", "main", self.project], check=True)
        self.equip(**settings)

    def equip(self, **settings: Any) -> None:
        folder = self.home.parent
        path = f"{ROOT}/.uv/bin:{os.environ['PATH']}"
        self.environment = {**os.environ, **NAMED, "HOME": str(self.home), "PATH": path}
        self.commands = CommandEnvironment(
            SandboxSettings(mode="required", **settings),
            self.environment,
            guarded=(folder / "state",),
            outputs=folder / "state" / "outputs",
            caches=command_caches(self.environment),
        )

    def invocation(self) -> Invocation:
        setup = CommandSetup(
            directory=self.project,
            find_environment=lambda: self.environment,
            find_sandbox=partial(self.commands.sandbox, "s"),
            bounds=self.commands.bounds(),
        )
        return Invocation(call="c", session="s", commands=setup)

    def __call__(self, command: str, **more: Any) -> Output:
        given = BASH.check({"command": command, **more})
        invocation = self.invocation()

        async def work() -> Output:
            output = await BASH.run(given, invocation)
            await self.commands.close()
            return output

        return asyncio.run(work())
