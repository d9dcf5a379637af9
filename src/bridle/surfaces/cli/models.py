"""`bridle models` and `bridle auth`: list models, fetch the embedded model, manage provider keys."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import msgspec
import typer

from bridle.errors import ConfigError
from bridle.runtime import Models, without_runtime
from bridle.runtime.argument_checks import fitting
from bridle.surfaces.cli import completion
from bridle.surfaces.cli.commands import Format, Formats, ListingGroup, Trusted
from bridle.surfaces.cli.output import say, say_json, secret, tell, tell_notices
from bridle.surfaces.shared.model_words import described

FEW = 5

models = typer.Typer(cls=ListingGroup, invoke_without_command=True)
auth = typer.Typer(help="Manage provider keys.", no_args_is_help=True)


def _opened(*, trusted: bool = False) -> Models:
    known, notices = without_runtime.open_models(trusted=trusted)
    tell_notices(notices)
    return known


@models.callback()
def list_models(
    provider: Annotated[
        str | None,
        typer.Option(help="List only this provider, with all its models.", autocompletion=completion.providers),
    ] = None,
    format: Format = "text",
    trust: Trusted = False,
) -> None:
    """List the models that are available now, and the default model.

    Examples: bridle models; bridle models --provider openrouter
    """
    fitting("--format", format, Formats)
    known = _opened(trusted=trust)
    found = [reach for reach in known.reachable() if provider in (None, reach.provider)]
    if provider is not None and not found:
        raise ConfigError(f"{provider} is not available: no key is known for it, and no server answers")
    if format == "json":
        for reach in found:
            for info in reach.models:
                say_json({"provider": reach.provider, "why": reach.why, **msgspec.to_builtins(info)})
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


@models.command("fetch")
def fetch() -> None:
    """Download the weights of the embedded model (93 MB), and verify their checksum.

    Example: bridle models fetch
    """
    say(f"the weights are in {_opened().fetch()}")


@auth.command("login")
def login(
    provider: Annotated[
        str,
        typer.Argument(help="Provider, such as anthropic, openai or openrouter.", autocompletion=completion.providers),
    ],
) -> None:
    """Store a provider's key, from the terminal or standard input, and test it with one request.

    Example: bridle auth login anthropic
    """
    known = _opened()
    if sys.stdin is None:
        raise ConfigError("there is no standard input to read the key from")
    key = secret(f"key for {provider}") if sys.stdin.isatty() else sys.stdin.readline()
    where, untried = asyncio.run(known.login(provider, key))
    if untried:
        tell(f"bridle: the key was stored, but not tested: {untried}")
    if where == "file":
        tell(f"bridle: there is no keyring here, so the key is in {known.providers.keys.file}, readable by you alone")
    say(f"{provider}: logged in")


@auth.command("list")
def list_keys() -> None:
    """List the providers with a key, and where it is stored; the key is never shown.

    Example: bridle auth list
    """
    found = _opened().logins()
    say("\n".join(f"{name}: {source}" for name, source in found) or "no keys; bridle auth login PROVIDER stores one")


@auth.command("logout")
def logout(
    provider: Annotated[
        str, typer.Argument(help="Provider, as listed by `bridle auth list`.", autocompletion=completion.providers)
    ],
) -> None:
    """Delete a stored key.

    Example: bridle auth logout anthropic
    """
    if not _opened().logout(provider):
        raise ConfigError(f"no key is stored for {provider}; to remove one from the environment, unset its variable")
    say(f"{provider}: logged out")
