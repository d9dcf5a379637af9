"""`installation`: what is installed and from where (editable, wheel, sdist, index), and which extras are there."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

EXTRA = re.compile(r"^(?P<name>[\w.-]+).*;.*\bextra == ['\"](?P<extra>[\w-]+)['\"]")


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """The Bridle that runs."""

    version: str
    folder: Path
    """The folder of the package that runs."""
    origin: str
    """Where it was installed from, in words."""
    by: str = ""
    """The program that has installed it."""
    shadows: Path | None = None
    """The installed package, if another one runs: a source tree that comes before it on the path."""
    extras: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class _Origin(msgspec.Struct):
    """`direct_url.json` of an installed package: there is none if it came from an index."""

    url: str = ""
    dir_info: dict[str, bool] | None = None
    archive_info: dict[str, object] | None = None
    vcs_info: dict[str, str] | None = None


def installation() -> Installation:
    """Return what is known of the Bridle that runs."""
    folder = Path(__file__).resolve().parents[1]
    try:
        found = distribution("bridle")
    except PackageNotFoundError:
        return Installation(version="unknown", folder=folder, origin="a source tree that was never installed")
    origin = msgspec.json.decode(found.read_text("direct_url.json") or "{}", type=_Origin)
    editable = origin.dir_info is not None and origin.dir_info.get("editable", False)
    installed = Path(str(found.locate_file("bridle"))).resolve()
    if editable:
        place = Path(_path(origin.url))
        installed = next((each.resolve() for each in (place / "src/bridle", place / "bridle") if each.is_dir()), place)
    extras = _extras(found)
    return Installation(
        version=found.version,
        folder=folder,
        origin=_in_words(origin, editable=editable),
        by=(found.read_text("INSTALLER") or "").strip(),
        shadows=installed if installed != folder else None,
        extras=tuple(sorted(name for name, there in extras.items() if there)),
        missing=tuple(sorted(name for name, there in extras.items() if not there)),
    )


def _in_words(origin: _Origin, *, editable: bool) -> str:
    path = _path(origin.url)
    if editable:
        return f"editable, from {path}"
    if origin.vcs_info is not None:
        return f"{origin.vcs_info.get('vcs', 'repository')} {origin.vcs_info.get('commit_id', '')}".strip()
    if origin.archive_info is not None:
        return f"{'wheel' if path.endswith('.whl') else 'sdist'} {path}"
    return f"folder {path}" if origin.dir_info is not None else "a package index"


def _path(url: str) -> str:
    """Return the path of a file URL; of any other URL only host and path, since it may hold a password."""
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else f"{parts.hostname or ''}{parts.path}"


def _extras(found: Distribution) -> dict[str, bool]:
    """Return every extra, and whether all its packages are there."""
    extras: dict[str, bool] = {}
    for written in found.requires or ():
        match = EXTRA.match(written)
        if match is not None:
            extras[match["extra"]] = extras.get(match["extra"], True) and _is_there(match["name"])
    return extras


def _is_there(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
