"""Finds the subcommand behind options, as in `git --no-pager log`, by knowing which of them take a value."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bridle.shell.words import Word

TAKES = {
    "git": r"-[Cc]|--(git-dir|work-tree|namespace|super-prefix|config-env|attr-source|list-cmds)",
    "npm": r"-C|-w|--(prefix|workspace|registry|loglevel|userconfig|globalconfig|cache|tag|script-shell)",
    "pnpm": r"-C|-F|--(dir|filter|loglevel|reporter)",
    "yarn": r"--(cwd|registry|cache-folder|mutex)",
    "docker": r"-[cHl]|--(config|context|host|log-level|tlscacert|tlscert|tlskey)",
    "kubectl": r"-[nsv]|--(namespace|context|cluster|kubeconfig|user|server|as|as-group|token|cache-dir)",
    "helm": r"-n|--(namespace|kube-context|kubeconfig|kube-token|registry-config)",
    "terraform": r"(?!)",
    "pip": r"--(proxy|timeout|log|cache-dir|retries|trusted-host|cert|client-cert|python|exists-action)",
    "make": r"-[CfIoW]|--(directory|file|makefile|include-dir|old-file|assume-old|what-if|assume-new|new-file)",
    "cargo": r"-[ZC]|--(config|color)",
    "go": r"-C",
    "gh": r"-R|--repo",
    "uv": r"--(directory|project|config-file|cache-dir|color|python-preference|allow-insecure-host)",
    "poetry": r"-[CP]|--(directory|project)",
    "systemctl": r"-[HMtpons]|--(host|machine|type|property|output|lines|signal|root|state|job-mode|kill-whom|what)",
    "apt": r"-[oct]|--(option|config-file|target-release|default-release)",
    "apt-get": r"-[oct]|--(option|config-file|target-release|default-release)",
    "aws": r"--(profile|region|output|endpoint-url|query|color|ca-bundle|cli-read-timeout|cli-connect-timeout)",
    "gcloud": r"--(project|account|configuration|format|verbosity|impersonate-service-account|flags-file)",
}
"""Options whose value is the next word, by program. All others stand alone or have their value after a `=`."""


def command_in(name: str, rest: Sequence[Word]) -> int:
    """Return the index of the subcommand among a program's words, as far as its options are known."""
    takes = re.compile(TAKES.get(name, r"(?!)"))
    index = 0
    while index < len(rest) and rest[index].text.startswith(("-", "+")):
        index += 2 if takes.fullmatch(rest[index].text) else 1
    return index


def git_command(rest: Sequence[Word]) -> tuple[str, list[Word]]:
    """Return git's subcommand and the words after it; both are empty if the subcommand is unknown."""
    index = command_in("git", rest)
    return (rest[index].text, list(rest[index + 1 :])) if index < len(rest) and rest[index].known else ("", [])
