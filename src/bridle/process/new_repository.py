"""Checks that a git repository made by a command has no active hooks, and only settings that git itself writes."""

from __future__ import annotations

import os

from bridle.process.protected_places import PlaceEntry, Survey

MOST_CONFIG = 65_536
SWITCHES = frozenset(
    {
        *("repositoryformatversion", "bare", "filemode", "symlinks", "ignorecase", "precomposeunicode"),
        *("logallrefupdates", "active"),
    }
)
TEXTS = frozenset({"url", "fetch", "merge", "remote", "pushremote", "name", "email", "defaultbranch"})
FORMATS = {"objectformat": ("sha1", "sha256"), "refstorage": ("files", "reftable")}
REMOTE = ("https://", "http://", "ssh://", "git://")
SECTIONS = ("[core]", "[user]", "[init]", "[extensions]", '[remote "', '[branch "', '[submodule "')


def planted(git: str, after: Survey) -> str:
    """Return the part of a new repository that would make git run or obey something; empty if there is none."""
    for path, found in after.found.items():
        inner = path[len(git) + 1 :]
        if not path.startswith(f"{git}/") or (inner in ("hooks", "branches") and found.kind == "folder"):
            continue
        sample = inner.startswith("hooks/") and inner.endswith(".sample") and found.kind == "file"
        if not sample and not (inner == "config" and _is_plain(found, git, after)):
            return f"its {inner}"
    return ""


def _is_plain(config: PlaceEntry, git: str, after: Survey) -> bool:
    """Return whether a configuration holds only lines that git itself writes into a new one."""
    if config.kind != "file" or config.content is None or len(config.content) > MOST_CONFIG:
        return False
    text = config.content.decode("latin-1")
    return all(_is_plain_line(line.strip(" \t"), git, after) for line in text.split("\n"))


def _is_plain_line(line: str, git: str, after: Survey) -> bool:
    if not all(" " <= letter <= "~" or letter == "\t" for letter in line) or "\\" in line:
        return False
    if not line:
        return True
    if line.startswith("["):
        quoted = line[:-2].partition('"')[2]
        return line in SECTIONS[:4] or (line.startswith(SECTIONS[4:]) and line.endswith('"]') and '"' not in quoted)
    name, equals, value = (piece.strip(" \t") for piece in line.partition("="))
    if name.lower() in FORMATS:
        return value in FORMATS[name.lower()]
    if name.lower() in SWITCHES:
        return bool(equals) and value in ("true", "false", "0", "1")
    if name.lower() == "worktree":
        place = os.path.normpath(os.path.join(git, value))
        return place.startswith(f"{after.watch.root}/") and ".git" not in place.split("/")
    if name.lower() == "url" and not _is_remote(value):
        # A push to a folder runs its hooks: the folder must be one that is compared, or judged like this one.
        place = os.path.normpath(os.path.join(os.path.dirname(git), value))
        return not {place, f"{place}/.git"}.isdisjoint((*after.repositories, *after.watch.git))
    return name.lower() in TEXTS and bool(equals) and not set(value) & set('"#;')


def _is_remote(url: str) -> bool:
    """Return whether an address leads to another machine: by a scheme, or as HOST:PATH."""
    if url.startswith(REMOTE):
        return True
    host, colon, _ = url.partition(":")
    return bool(colon) and "/" not in host and not host.startswith("-") and not url[len(host) :].startswith("::")
