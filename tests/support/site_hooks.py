"""What MkDocs asks while it builds the site: pages made from code, pages from outside docs/, and links out of it."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from support import site_reference
from support.paths import ROOT

MADE = {
    "commands.md": site_reference.commands_page,
    "all-settings.md": site_reference.settings_page,
    "events.md": site_reference.events_page,
    "errors.md": site_reference.errors_page,
}
OUTSIDE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "GLOSSARY.md": "project/glossary.md",
    "SECURITY.md": "project/security.md",
}
"""Documents at the root of the repository, and their places on the site."""
INSIDE = {place: path for path, place in OUTSIDE.items()}
PICTURES = (".png", ".svg")
FENCED = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
LIST = re.compile(r"(^(?![-*|> ]|\d+\.).+\n)(?=- )", re.MULTILINE)
LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List every decision in the navigation."""
    listed = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    assert config.nav is not None
    config.nav.insert(-1, {"Decisions": [f"decisions/{name}" for name in listed]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for place, make in MADE.items():
        files.append(File.generated(config, place, content=make()))
    for path, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / path).read_text()))
    for picture in sorted({path for page in files.documentation_pages() for path in _pictures(page)}):
        files.append(File.generated(config, _picture(picture), abs_src_path=str(ROOT / picture)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lead links to their places on the site; a path that the site does not have is named instead."""
    pieces = FENCED.split(markdown)
    source = _source(page.file.src_uri)
    # Elsewhere a list may follow its sentence at once; here it would be a part of it.
    pieces[::2] = [LIST.sub(r"\1\n", text) for text in pieces[::2]]
    pieces[::2] = [LINK.sub(lambda found: _led(found, source, page.file.src_uri), text) for text in pieces[::2]]
    return "".join(pieces)


def on_page_content(html: str, **_: Any) -> str:
    """Wrap tables: those that are too wide scroll by keys too."""
    return html.replace("<table>", '<div class="scrolled" tabindex="0"><table>').replace("</table>", "</table></div>")


def on_post_page(output: str, **_: Any) -> str:
    """Name what the theme leaves without a name for screen readers."""
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">')


def _source(place: str) -> str:
    """Return the path in the repository of a page of the site."""
    return INSIDE.get(place, f"docs/{place}")


def _led(found: re.Match[str], source: str, place: str) -> str:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))
    if path.startswith("docs/") and source.startswith("docs/"):
        return found[0]
    if path.startswith("docs/") and (ROOT / path).is_dir():
        path = min(each.relative_to(ROOT).as_posix() for each in (ROOT / path).glob("*.md"))
    target = OUTSIDE.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
    if path.endswith(PICTURES) and target is None:
        target = _picture(path)
    if target is None:
        return found["text"] if found["text"].strip("`") == path else f"{found['text']} (`{path}`)"
    led = posixpath.relpath(target, posixpath.dirname(place) or ".")
    return f"{found['mark']}[{found['text']}]({led}{found['anchor'] or ''})"


def _pictures(page: File) -> list[str]:
    """Return the pictures outside docs/ that a page shows."""
    source = _source(page.src_uri)
    paths = (posixpath.join(posixpath.dirname(source), found["path"]) for found in LINK.finditer(page.content_string))
    return [path for path in map(posixpath.normpath, paths) if path.endswith(PICTURES) and path.startswith("tests/")]


def _picture(path: str) -> str:
    return f"pictures/{posixpath.basename(path)}"
