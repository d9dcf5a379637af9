"""`bridle models` and `bridle auth`: list models, fetch the embedded model, manage provider keys."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated, Any

import msgspec
import typer

from bridle.core.agent import ModelInfo
from bridle.errors import ConfigError
from bridle.runtime import Models, open_models
from bridle.surfaces.cli.group_options import goes_on
from bridle.surfaces.cli.output import say, say_json, secret, tell, tell_notices

FEW = 5

models = typer.Typer(help="What can be asked.", invoke_without_command=True)
auth = typer.Typer(help="Keys of providers.", no_args_is_help=True)

Trust = Annotated[bool, typer.Option("--trust", help="Trust this project's files for this run.")]


def _opened(*, trusted: bool = False) -> Models:
    known, notices = open_models(trusted=trusted)
    tell_notices(notices)
    return known


@models.callback()
def list_models(
    context: typer.Context,
    provider: Annotated[str | None, typer.Option(help="Only this one, with all of its models.")] = None,
    format: Annotated[str, typer.Option(help="text or json.")] = "text",
    trust: Trust = False,
) -> None:
    """List the models that can be asked right now, and say which is taken where none is named.

    Examples: bridle models; bridle models --provider openrouter
    """
    if goes_on(context):
        return
    if format not in ("text", "json"):
        raise ConfigError(f"--format must be text or json, not {format!r}")
    known = _opened(trusted=trust)
    found = [reach for reach in known.reachable() if provider in (None, reach.provider)]
    if provider is not None and not found:
        raise ConfigError(f"{provider} cannot be asked now: no key is known for it, and no server answers")
    if format == "json":
        for reach in found:
            for info in reach.models:
                say_json(_row(reach.provider, reach.why, info))
        return
    for reach in found:
        say(f"{reach.provider}: {reach.why}")
        shown = reach.models if provider is not None else reach.models[:FEW]
        for info in shown:
            say(f"  {info.ref:<44} {described(info)}")
        if len(reach.models) > len(shown):
            say(f"  … {len(reach.models) - len(shown)} more: bridle models --provider {reach.provider}")
    ref, why = known.choose()
    say(f"\nwithout --model: {ref} ({why})")


def _row(provider: str, why: str, info: ModelInfo) -> dict[str, Any]:
    return {"provider": provider, "why": why, **msgspec.to_builtins(info)}


def described(info: ModelInfo) -> str:
    """Describe a model in a few words: context window, price, media types and variants."""
    window = f"{info.context_window // 1000:,}k tokens"
    price = f"${info.price.input:g} in, ${info.price.output:g} out" if info.price is not None else "price unknown"
    if info.price is not None and info.price.input == info.price.output == 0:
        price = "no cost"
    sees = f", sees {' and '.join(sorted(info.takes))}" if info.takes else ""
    variants = f", variants {' '.join(info.variants)}" if info.variants else ""
    return f"{window}, {price}{sees}{variants}"


@models.command("fetch")
def fetch() -> None:
    """Get the weights of the embedded model (93 MB), and check that they are the right ones.

    Example: bridle models fetch
    """
    say(f"the weights are in {_opened().fetch()}")


@auth.command("login")
def login(provider: Annotated[str, typer.Argument(help="Such as anthropic, openai or openrouter.")]) -> None:
    """Store a key; it is read without being shown, or from standard input, and tried with one request.

    Example: bridle auth login anthropic
    """
    known = _opened()
    if sys.stdin is None:
        raise ConfigError("there is no standard input to read the key from")
    key = secret(f"key for {provider}") if sys.stdin.isatty() else sys.stdin.readline()
    where, untried = asyncio.run(known.login(provider, key))
    if untried:
        tell(f"bridle: the key was stored, but not tried: {untried}")
    if where == "file":
        path = known.providers.keys.file
        tell(f"bridle: there is no keyring here, so the key is in {path}, readable by you alone")
    say(f"{provider}: logged in")


@auth.command("list")
def list_keys() -> None:
    """List the providers that have a key, and where it is; never the key.

    Example: bridle auth list
    """
    found = _opened().logins()
    for name, source in found:
        say(f"{name}: {source}")
    if not found:
        say("no keys; bridle auth login PROVIDER stores one")


@auth.command("logout")
def logout(provider: Annotated[str, typer.Argument(help="A provider of `bridle auth list`.")]) -> None:
    """Forget a stored key.

    Example: bridle auth logout anthropic
    """
    if not _opened().logout(provider):
        raise ConfigError(f"no key is stored for {provider}; one in the environment is yours to unset")
    say(f"{provider}: logged out")
