"""The `bash` tool: run a shell command, in the sandbox if there is one, to its end or timeout, or in the background."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Annotated

import msgspec

from bridle.core.permission import EDIT_PROTECTED, Access
from bridle.core.protected import protection
from bridle.errors import ToolFailed
from bridle.process.containment import told
from bridle.process.sandbox import CLOSED, Openings, Sandbox
from bridle.tools.background import MOST_RUNNING, Background
from bridle.tools.builtin import builtin
from bridle.tools.prepared_command import HOST, PreparedCommand, prepare
from bridle.tools.tool import Invocation, Output
from bridle.values.addresses import is_host
from bridle.workspace.files import Place, accesses, beyond, is_folder, located
from bridle.workspace.git_place import git_folders

LONGEST_SECONDS = 600.0
FIRST_LOOK_SECONDS = 0.5
NETWORK = "network"
NO_NETWORK = re.compile(
    r"(?i:could not resolve|name resolution|name or service not known|network is unreachable|no address associated|"
    r"failed to establish a new connection|dial tcp|nodename nor servname|could not connect to server|"
    r"unable to resolve|dns error|failed to lookup address)|\b(EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b"
)
READ_ONLY = re.compile(r"(?i:read-only file system|could not (write|lock) config file)|\bEROFS\b")


class BashArguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    command: Annotated[str, msgspec.Meta(description="The command")]
    description: Annotated[str, msgspec.Meta(description="What it is for, in a few words")] = ""
    timeout: Annotated[int | None, msgspec.Meta(description="Milliseconds it may take")] = None
    workdir: Annotated[str | None, msgspec.Meta(description="The folder to run it in")] = None
    background: Annotated[bool, msgspec.Meta(description="Let it go on")] = False
    outside: Annotated[
        list[str],
        msgspec.Meta(description='Beyond the sandbox: "network", a host, folder or protected file'),
    ] = []


async def bash(given: BashArguments, invocation: Invocation) -> Output:
    if given.background and not invocation.commands.backgrounds.room(invocation.session):
        raise ToolFailed(f"{MOST_RUNNING} commands run in the background already; end one of them first.")
    ready = await _prepared(given, invocation)
    if given.background:
        return await _in_background(ready, given, invocation)
    status, seconds = await _run(ready, given, invocation)
    text = invocation.printed.text()
    if status == 0:
        return invocation.output(text or "[no output]")
    if status is None:
        return invocation.output(f"{text}\n\n[timed out after {seconds:g} s]", failed=True)
    return invocation.output(f"{text}\n\n[exit status {status}]{_hint(text, given, ready)}", failed=True)


async def _prepared(given: BashArguments, invocation: Invocation) -> PreparedCommand:
    place = located(invocation.directory, given.workdir or ".")
    if not is_folder(place):
        raise ToolFailed(f"{given.workdir or place.path} is not a folder.")
    sandbox = invocation.sandbox
    opened = CLOSED if sandbox is None else _openings(given, sandbox, place.project, invocation)
    command = ["/bin/bash", "-c", given.command]
    return await prepare(command, invocation, place.path, opened=opened, lasting=given.background)


def _openings(given: BashArguments, sandbox: Sandbox, project: Path, invocation: Invocation) -> Openings:
    """Return what a call may use beyond the default sandbox; git's config only if the line is a single command."""
    permits = invocation.permits
    hosts = [name for name in given.outside if _is_host(name, invocation.directory)]
    writable: list[Path] = []
    protected: list[Path] = []
    for path in given.outside:
        if path == NETWORK or path in hosts:
            continue
        place = located(invocation.directory, path)
        if permits is not None and not all(map(permits, _wanted(place))):
            raise ToolFailed(f"{path} was not allowed.")
        (protected if place.inside else writable).append(place.path)
    needs = _needs(given, project)
    # Paths named in the command line are opened only if permissions were checked.
    edits = (access for access in needs if access.permission == EDIT_PROTECTED)
    protected += [project / access.pattern for access in edits if permits is not None and permits(access)]
    named = {access.permission for access in needs}
    if "git_config" in named and is_single(given.command):
        protected += [folder / "config" for folder in git_folders(project)]
    return Openings(
        network=NETWORK in named or sandbox.network,
        fetches=invocation.hosts or bool(hosts),
        writable=tuple(writable),
        protected=tuple(protected),
    )


def _wanted(place: Place) -> tuple[Access, ...]:
    """The permissions for a path in `outside`: a folder outside the project, or a protected or masked file."""
    if not place.inside:
        return (Access("external_directory", beyond(place)),)
    kind = protection(place.inner.parts)
    if kind == "deny":
        return (Access("protected", place.shown),)
    asked = (Access(EDIT_PROTECTED, place.shown),) if kind == "ask" else ()
    return (*asked, Access("read", place.shown))


def _is_host(text: str, directory: Path) -> bool:
    return text != NETWORK and is_host(text) and not os.path.exists(directory / text)


async def _run(ready: PreparedCommand, given: BashArguments, invocation: Invocation) -> tuple[int | None, float | None]:
    """Return the exit status, or None after a timeout, and the timeout in seconds."""
    seconds = None if given.timeout is None else max(given.timeout, 1) / 1000
    piped = ready.start()
    try:
        async with asyncio.timeout(seconds):
            return await piped.run(invocation.print), seconds
    except TimeoutError:
        if seconds is None:
            raise
        return None, seconds
    finally:
        # However the command ended, changes to protected files are part of its output.
        invocation.print(told(piped.differences(), invocation.directory.resolve()))


async def _in_background(ready: PreparedCommand, given: BashArguments, invocation: Invocation) -> Output:
    started = Background(ready, given.command)
    try:
        await asyncio.sleep(FIRST_LOOK_SECONDS)
    except BaseException:
        await started.end()
        raise
    id = invocation.commands.backgrounds.add(invocation.session, started)
    state = "is running" if started.status is None else f"has ended with status {started.status}"
    return Output(f"{started.read()}\n[{id} {state}]".lstrip("\n"))


def _hint(text: str, given: BashArguments, ready: PreparedCommand) -> str:
    """Explain how the sandbox may have caused a failure, and how to ask for more access."""
    if ready.contained is None:
        return ""
    tail, egress_proxy = text[-5_000:], ready.egress_proxy
    masked = [name for name in ready.contained.masked if name in tail or name in given.command]
    if masked and "ermission denied" in tail:
        names = ", ".join(f'"{name}"' for name in masked[:5])
        return f"\n[commands cannot open these files; to ask a person: outside: [{names}]]"
    if egress_proxy is not None and egress_proxy.refused:
        hosts = ", ".join(f'"{host}"' for host in egress_proxy.refused)
        return f"\n[the sandbox lets no command reach these hosts; to ask a person: outside: [{hosts}]]"
    if NO_NETWORK.search(tail) and NETWORK not in given.outside:
        return (
            '\n[the sandbox has no network; to ask a person for it, run this again with outside: ["network"], '
            'or with the hosts that it needs, such as outside: ["pypi.org"]]'
        )
    if READ_ONLY.search(tail):
        return (
            "\n[the sandbox lets commands write only to the project, caches and /tmp; to ask a person for another "
            'folder, run this again with outside: ["/the/folder"]]'
        )
    return ""


def is_single(command: str) -> bool:
    """Return whether a line is one plain command, so that its extra access serves no other command."""
    from bridle.shell.script import taken_apart

    script = taken_apart(command)
    return len(script.commands) == 1 and not script.doubts


def _needs(given: BashArguments, directory: Path) -> tuple[Access, ...]:
    # Imported here because a turn without commands does not need the parser.
    from bridle.shell.required_access import needs_of

    folder = located(directory, given.workdir or ".")
    needed = needs_of(given.command, folder.project, folder.path)
    if not folder.inside:
        needed += accesses("list", folder)[1:]
    for wanted in given.outside:
        if wanted == NETWORK:
            needed += (Access(NETWORK, given.command),)
        elif _is_host(wanted, directory):
            needed += (Access(HOST, wanted.lower()),)
        else:
            needed += _wanted(located(directory, wanted))
    return needed


IGNORED = frozenset({"description"})
TOOL = builtin("bash", BashArguments, bash, needs=_needs, ignored_arguments=IGNORED, timeout_seconds=LONGEST_SECONDS)
