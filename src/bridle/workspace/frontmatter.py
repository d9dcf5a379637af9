"""Parses the front matter of Markdown files, YAML between two lines of dashes: strictly if possible, never as code."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from bridle.errors import ConfigError

HEAD = re.compile(r"\A(?:---[ \t]*\r?\n)(.*?)(?:^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)
MOST_HEAD = 100_000
FIELD = re.compile(r"([A-Za-z_][\w-]*):[ \t]+(\S.*?)[ \t]*")
PLAIN = re.compile(r"""[^\s"'\[{|>&*!%@`#-]""")
"""The first character of a value that may be plain words, and so may be put in quotes."""


class Document(NamedTuple):
    """A file split into its front matter (`head`) and the text after it."""

    head: dict[str, Any]
    body: str


def document(text: str) -> Document:
    """Split a file with or without front matter; raises `ConfigError` if the front matter is invalid."""
    text = text.removeprefix("\ufeff")
    found = HEAD.match(text)
    if found is None:
        if re.match(r"---[ \t]*\r?\n", text):
            raise ConfigError("its front matter never ends: the second line of dashes is missing")
        return Document({}, text)
    return Document(fields(found[1]), text[found.end() :])


def fields(yaml_text: str) -> dict[str, Any]:
    """Return the fields of a YAML table; adds quotes that are missing. Raises `ConfigError` for anything else."""
    if len(yaml_text) > MOST_HEAD:
        raise ConfigError(f"its front matter is longer than {MOST_HEAD:,} characters")
    try:
        content = _read(yaml_text)
    except ConfigError:
        content = _read("\n".join(_quoted(line) for line in yaml_text.splitlines()))
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError("its front matter is not a table of keys and values")
    return {str(key): value for key, value in content.items()}


def _quoted(line: str) -> str:
    """Return a line with its value in quotes, if strict YAML may have refused it because of a colon."""
    found = FIELD.fullmatch(line.rstrip())
    if found is not None and line.startswith(f"{found[1]}:\t"):
        line = f"{found[1]}: {found[2]}"
    if found is None or not PLAIN.match(found[2]) or (": " not in found[2] and not found[2].endswith(":")):
        return line
    return f"{found[1]}: {json.dumps(found[2], ensure_ascii=False)}"


def _read(text: str) -> Any:
    # Imported late: most turns read no front matter.
    import yaml

    try:
        return yaml.load(text, Loader=_loader())
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, OverflowError) as error:
        place = getattr(error, "problem_mark", None)
        where = f"line {place.line + 2}: " if place is not None else ""
        raise ConfigError(f"{where}{getattr(error, 'problem', None) or error}") from error


def _loader() -> Any:
    import yaml

    class Strict(yaml.SafeLoader):
        """A YAML loader without aliases, which can expand beyond any memory, and without duplicate keys."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                untyped: Any = self
                event = untyped.get_event()
                problem = f"the alias *{event.anchor} is not supported"
                raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[Any] = set()
            for key, _ in node.value:
                name = self.construct_object(key, deep=True)
                if not isinstance(name, (str, int, float, bool)) or name in seen:
                    problem = f"the key {name!r} occurs twice" if name in seen else "a key must be a word"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(name)
            return super().construct_mapping(node, deep=deep)

    return Strict
