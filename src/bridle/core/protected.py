"""Names that tools and sandbox protect from writing (`.git`, AGENTS.md, .vscode, …), and the verdict: deny or ask."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal

Protection = Literal["", "ask", "deny"]

DENIED = frozenset({".git", ".bridle", "bridle.toml"})
"""Never written by a file tool. Commands may use git, but not change the files that git runs or obeys."""

OBEYED = (
    # Coding agents: instructions, settings, tools, and servers that they start.
    *(
        "AGENTS.md",
        "AGENTS.override.md",
        "copilot-instructions.md",
        "AGENT.md",
        "CLAUDE.md",
        "CLAUDE.local.md",
        "GEMINI.md",
        "QWEN.md",
        "CONTEXT.md",
    ),
    *("opencode.json", "opencode.jsonc", ".mcp.json", ".opencode", ".claude", ".agents", ".codex"),
    *(".gemini", ".qwen", ".cursor", ".cursorrules", ".windsurf", ".windsurfrules", ".clinerules", ".roo"),
    *(".aider.conf.yml", ".continue", ".goosehints", ".junie", ".kiro", ".amazonq", ".trae", ".crush.json"),
    # Editors: tasks, launchers and scripts that run when a folder is opened.
    *(".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".devcontainer.json", ".exrc", ".vimrc", ".nvimrc"),
    *(".nvim.lua", ".lvimrc", ".dir-locals.el", ".dir-locals-2.el", ".gdbinit", ".lldbinit", ".Rprofile"),
    # Shells and version managers: run when a folder is entered.
    *(".envrc", ".autoenv", ".autoenv.zsh", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise"),
    # The settings of a Mercurial repository, which are its hooks too.
    *("hgrc", "hgrc-not-shared"),
    # Git hooks, by the managers that install them.
    *(".husky", ".githooks", ".git-hooks", "lefthook.yml", "lefthook.yaml", "lefthook.toml", ".lefthook.yml"),
    *(".lefthook.yaml", ".lefthook.toml", "lefthook-local.yml", ".pre-commit-config.yaml", ".overcommit.yml"),
    *("captainhook.json", ".huskyrc", ".huskyrc.json", ".huskyrc.js", ".simple-git-hooks.json"),
)
"""Files and folders that programs run or obey later. They are written only with approval, which `--on-ask allow` never
gives."""
ASKED = frozenset(name.casefold() for name in OBEYED)

DEPENDENCIES = frozenset(
    {
        *("node_modules", "bower_components", "jspm_packages", ".pnpm-store", ".yarn", ".venv", "venv", ".virtualenv"),
        *("site-packages", "__pypackages__", ".tox", ".nox", "target", "vendor", "build", "dist", ".gradle", ".m2"),
        *(".next", ".nuxt", ".svelte-kit", ".turbo", ".cache", "__pycache__", ".mypy_cache", ".pytest_cache", "Pods"),
        *(".ruff_cache", ".hypothesis", ".terraform", "_build", "deps", ".stack-work", "dist-newstyle", ".dart_tool"),
    }
)
"""Folders filled by package managers and builds. Where git ignores one of them, nothing in it is protected."""


def folded(name: str) -> str:
    """Return a name as read by a file system that ignores case and drops invisible characters."""
    plain = "".join(letter for letter in unicodedata.normalize("NFKC", name) if unicodedata.category(letter) != "Cf")
    return plain.casefold().rstrip(". ")


def protection(parts: Sequence[str]) -> Protection:
    """Return the verdict for writing to a path inside a project, given its components."""
    names = {folded(name) for name in parts}
    if names & DENIED:
        return "deny"
    return "ask" if names & ASKED else ""
