"""`Home`: the part of the home folder that a sandboxed command sees (tool chains, caches, harmless settings)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bridle.process.protected_places import entries
from bridle.values.secrets import without_logins
from bridle.workspace.bounded_read import read_bounded
from bridle.workspace.git_place import user_settings

TOOL_CHAINS = (
    *(".local/bin", "bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv/python"),
    *(".local/share/uv/tools", ".pyenv", ".rye", ".pixi", ".local/share/hatch", ".virtualenvs"),
    *(".local/share/virtualenvs", "miniconda3", "anaconda3", "miniforge3", "mambaforge", ".conda/envs"),
    *(".cargo/bin", ".cargo/env", ".rustup", "go/bin", ".go", ".goenv", "sdk", ".local/go"),
    *(".nvm", ".fnm", ".local/share/fnm", ".volta", ".nodenv", ".n", ".npm-global", ".npm-packages", ".bun/bin"),
    *(".deno/bin", ".yarn/bin", ".local/share/pnpm", ".corepack", ".rbenv", ".rvm", ".asdf", ".local/share/mise"),
    *(".local/share/rtx", ".sdkman", ".jenv", ".jabba", ".jdks", ".dotnet", ".ghcup", ".cabal/bin", ".stack/programs"),
    *(".opam", ".juliaup", ".julia/juliaup", ".elan", ".swiftly", ".local/share/swiftly", ".phpenv", ".plenv"),
    *(".nix-profile", ".linuxbrew", ".local/share/pypoetry", ".poetry/bin", ".krew/bin", ".local/zig", ".zvm"),
)
"""Programs below the home, read-only."""

CACHES = (
    *(".cache/pip", ".cache/uv", ".cache/pypoetry/cache", ".cache/pypoetry/virtualenvs", ".cache/pre-commit"),
    *(".npm/_cacache", ".cache/yarn", ".cache/pnpm", ".local/share/pnpm/store", ".bun/install/cache", ".cache/deno"),
    *(".cache/node", ".cache/node-gyp", ".cache/electron", ".cache/ms-playwright", ".cache/puppeteer"),
    *("go/pkg", ".cache/go-build", ".cargo/registry", ".cargo/git", ".m2/repository", ".gradle/caches"),
    *(".gradle/wrapper", ".nuget/packages", ".cache/composer", ".cache/huggingface/hub", ".cache/torch"),
    *(".cache/bazel", ".cache/ccache", ".cache/sccache", ".gem/ruby", ".local/share/gem", ".cabal/packages"),
)
"""Downloads of package managers below the home, read-only."""


class OwnCache(NamedTuple):
    """A cache of Bridle's own, which commands write to instead of the user's."""

    name: str
    variable: str
    """The environment variable with its location; empty if the program supports only a place below the home."""
    place: str
    """Where the user's own cache lies. It is used if nothing can be fetched and Bridle has no cache of its own."""


OWN_CACHES = (
    OwnCache("pip", "PIP_CACHE_DIR", ".cache/pip"),
    OwnCache("uv", "UV_CACHE_DIR", ".cache/uv"),
    OwnCache("npm", "npm_config_cache", ".npm"),
    OwnCache("yarn", "YARN_CACHE_FOLDER", ".cache/yarn"),
    OwnCache("pnpm", "npm_config_store_dir", ".local/share/pnpm/store"),
    OwnCache("bun", "BUN_INSTALL_CACHE_DIR", ".bun/install/cache"),
    OwnCache("deno", "DENO_DIR", ".cache/deno"),
    OwnCache("go-mod", "GOMODCACHE", "go/pkg/mod"),
    OwnCache("go-build", "GOCACHE", ".cache/go-build"),
    OwnCache("cargo-registry", "", ".cargo/registry"),
    OwnCache("cargo-git", "", ".cargo/git"),
    OwnCache("maven", "", ".m2/repository"),
    OwnCache("gradle", "GRADLE_USER_HOME", ".gradle"),
    OwnCache("nuget", "NUGET_PACKAGES", ".nuget/packages"),
    OwnCache("composer", "COMPOSER_CACHE_DIR", ".cache/composer"),
)
WRITTEN_BY_BUILDS = frozenset({"go-build", "gradle"})
"""Caches that a program fills even when it fetches nothing, so that a read-only one is useless."""

SETTINGS = {
    ".npmrc": r"(@[\w-]+:)?registry|(https?-)?proxy|no-?proxy|cafile|ca|strict-ssl|save-exact|engine-strict|fund|audit",
    ".yarnrc": r"\"?(registry|(https?-)?proxy|cafile|strict-ssl)\"?",
    ".yarnrc.yml": r"npmRegistryServer|httpsCaFilePath|https?Proxy|enableStrictSsl|nodeLinker",
    ".config/go/env": r"GOPROXY|GONOPROXY|GONOSUMDB|GOPRIVATE|GOSUMDB|GOFLAGS",
    ".condarc": r"channels|default_channels|ssl_verify|channel_alias",
    ".gemrc": r":?sources",
}
"""Settings files of package managers, each with the keys to copy; the rest is left out."""
PIP_SETTINGS = (".config/pip/pip.conf", ".pip/pip.conf")
PIP_KEYS = r"index[-_]url|extra[-_]index[-_]url|find[-_]links|trusted[-_]host|cert|proxy|timeout|no[-_]index"
TOML_SETTINGS = {
    ".config/uv/uv.toml": (
        r"index|pip",
        r"index-url|extra-index-url|find-links|name|url|default|explicit|native-tls|system-certs",
    ),
    ".cargo/config.toml": (
        r"source|registries|net|http|build|target|profile|term",
        r"replace-with|registry|index|directory|git|branch|offline|cainfo|proxy|linker|rustflags|jobs|incremental"
        r"|git-fetch-with-cli|target-dir",
    ),
}
"""Settings files in TOML, each with the tables and the keys in them to copy."""
LINKING = ("", ".config", ".local", ".local/share", ".local/state", ".cache")
"""Folders of the home in which links may lead to secrets elsewhere."""
MOST_SETTINGS = 65_536
GIT_NAMES = (
    r"^(user\.(name|email)|init\.defaultbranch|core\.(autocrlf|eol|quotepath)|safe\.directory|pull\.(rebase|ff)|"
    r"merge\.conflictstyle|diff\.(algorithm|renames)|rebase\.autosquash|http\.(sslcainfo|sslverify|proxy))$"
)


def plain_settings(home: Path) -> dict[str, str]:
    """Return the settings of package managers without credentials, by their path below the home."""
    # Imported late: the parsers are not needed before the first command.
    from bridle.process.sanitize_settings import plain_lines, plain_sections, plain_toml

    found = {name: plain_lines(_small(home / name), keys) for name, keys in SETTINGS.items()}
    found |= {name: plain_sections(_small(home / name), PIP_KEYS) for name in PIP_SETTINGS}
    found |= {name: plain_toml(_small(home / name), *names) for name, names in TOML_SETTINGS.items()}
    return {name: text for name, text in found.items() if text}


def _small(path: Path) -> str:
    try:
        return read_bounded(path, MOST_SETTINGS).decode("utf-8", errors="replace")
    except OSError:
        return ""


def git_identity(git: str | None, environment: Mapping[str, str]) -> str:
    """Return a git configuration with the user's name and a few harmless settings; it turns off signing."""
    lines = ["[commit]", "\tgpgsign = false", "[tag]", "\tgpgsign = false"]
    found = user_settings(git, GIT_NAMES, environment, "--global") if _is_askable(environment) else ()
    for key, content in found:
        section, _, name = key.rpartition(".")
        value = content.decode("utf-8", errors="replace")
        plain = value if section == "user" else without_logins(value)
        if plain is not None:
            escaped = plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            lines += [f"[{section}]", f'\t{name} = "{escaped}"']
    return "\n".join(lines) + "\n"


def _is_askable(environment: Mapping[str, str]) -> bool:
    """Return whether git can read its settings without blocking: they may be a pipe."""
    home = environment.get("HOME", "/nonexistent")
    above = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    return not any(
        os.path.exists(path) and not os.path.isfile(path) for path in (f"{home}/.gitconfig", f"{above}/git/config")
    )


def mounts(kind: str, paths: Iterable[Path | str]) -> list[str]:
    """Return the words that mount each path at its own place, in this kind of mount."""
    return [word for path in map(str, paths) for word in (kind, path, path)]


@dataclass(frozen=True, slots=True)
class Home:
    """The user's home folder, and the parts that commands may see."""

    folder: Path
    """Its real path, all links followed."""
    named: Path
    """Its path as HOME names it."""
    caches: Path
    """The folder of Bridle's own caches."""
    settings: Mapping[str, Path] = field(default_factory=dict)
    """Generated files, by the path below the home at which they appear."""
    opened: tuple[Path, ...] = ()
    """Further readable paths from the user's configuration."""

    def words(self, programs: Iterable[Path], *, network: bool) -> list[str]:
        """Return the mounts that make the home: an empty one first, then its visible entries."""
        home = str(self.folder)
        words = ["--tmpfs", home]
        seen = [self.folder / name for name in (*TOOL_CHAINS, *CACHES)]
        shown = dict.fromkeys((*seen, *(path for path in programs if path.is_relative_to(self.folder))))
        words += mounts("--ro-bind-try", (path for path in shown if os.path.exists(path)))
        for cache in OWN_CACHES:
            if own := self._own(cache, network=network):
                words += ["--bind", str(own), str(own) if cache.variable else f"{home}/{cache.place}"]
        for name, path in self.settings.items():
            words += ["--ro-bind", str(path), f"{home}/{name}"]
        return words + mounts("--ro-bind-try", self.opened)

    def linked_away(self) -> list[Path]:
        """Return the targets outside the home of hidden entries that are links: secrets may lie elsewhere."""
        seen = {self.folder / name for name in (*TOOL_CHAINS, *CACHES)}
        found = (Path(each.path) for name in LINKING for each in entries(str(self.folder / name)))
        links = (path for path in found if os.path.islink(path) and path not in seen)
        targets = (path.resolve() for path in links if path.name.startswith(".") or path.parent != self.folder)
        return [path for path in targets if os.path.exists(path) and not path.is_relative_to(self.folder)]

    def seen(self) -> list[str]:
        """Return the tool chains, caches and settings that commands can see, by their names below the home."""
        return [name for name in (*TOOL_CHAINS, *CACHES) if os.path.exists(self.folder / name)] + list(self.settings)

    def variables(self, *, network: bool) -> dict[str, str]:
        """Return the environment variables that point programs to their caches."""
        named = (cache for cache in OWN_CACHES if cache.variable)
        return {each.variable: str(self._own(each, network=network) or self.folder / each.place) for each in named}

    def _own(self, cache: OwnCache, *, network: bool) -> Path | None:
        """Return Bridle's own folder for a cache; None if the user's is used."""
        own = self.caches / cache.name
        if network or cache.name in WRITTEN_BY_BUILDS or not os.path.isdir(self.folder / cache.place):
            own.mkdir(mode=0o700, parents=True, exist_ok=True)
            return own
        return own if os.path.isdir(own) and any(own.iterdir()) else None
