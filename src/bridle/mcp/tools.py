"""Makes Bridle tools of accepted MCP tools, and one for resources: names, permissions, results as text and images."""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from bridle.core.messages import Attachment
from bridle.core.permission import Access
from bridle.core.stream import ToolSpec
from bridle.errors import ServerFailed, ToolFailed
from bridle.mcp.accepted_tools import Definition
from bridle.tools.tool import Invocation, Output, StructTool, loader, struct_schema
from bridle.values.media import media_of

if TYPE_CHECKING:
    from bridle.mcp.server_link import Link

LONGEST_NAME = 64
MOST_PICTURES = 7_000_000
"""Maximum size of all images of one result, in base64 characters."""
RESOURCE = "resource"


def server_tool(link: Link, definition: Definition) -> StructTool:
    """Return one tool of one server. The server validates the arguments."""
    name = tool_name(link.name, definition.name)

    async def call(arguments: Any, invocation: Invocation) -> Output:
        try:
            result = await link.call(definition, arguments, invocation.print)
        except ServerFailed as error:
            raise ToolFailed(f"{link.name}: {error}") from error
        text = shown(result.content) or _structured(result)
        return Output(text, failed=bool(result.is_error), attached=_pictures(name, result.content))

    return StructTool(
        spec=ToolSpec(name, definition.description or definition.name, definition.schema),
        load=dict,
        work=call,
        permission=name,
        needs=lambda given, directory: (Access(name, "*", always="*"),),
        timeout_seconds=link.server.seconds,
    )


def tool_name(server: str, tool: str) -> str:
    """Return SERVER_TOOL in characters and length that every provider accepts."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}_{tool}")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"


class ResourceArguments(msgspec.Struct, forbid_unknown_fields=True):
    server: Annotated[str, msgspec.Meta(description="The server")]
    uri: Annotated[str, msgspec.Meta(description="What to read; left out, it lists what there is")] = ""


def resource_tool(links: Mapping[str, Link]) -> StructTool:
    """Return the tool that lists and reads resources of servers."""

    async def resource(given: ResourceArguments, invocation: Invocation) -> Output:
        link = links.get(given.server)
        if link is None:
            raise ToolFailed(f"There is no server {given.server!r} (there are: {', '.join(links)}).")
        try:
            if not given.uri:
                lines = [f"{uri}  {name}" for uri, name in await link.resources()]
                return Output("\n".join(lines) or "[it has none]")
            return Output(shown(await link.resource(given.uri)))
        except ServerFailed as error:
            raise ToolFailed(f"{given.server}: {error}") from error

    description = f"Lists or reads resources of a server: {', '.join(links)}."
    return StructTool(
        spec=ToolSpec(RESOURCE, description, struct_schema(ResourceArguments)),
        load=loader(ResourceArguments),
        work=resource,
        permission=RESOURCE,
        needs=lambda given, directory: (Access(RESOURCE, f"{given.server} {given.uri}".strip()),),
        leaves_files=True,
    )


def _pictures(name: str, content: Sequence[Any]) -> tuple[Attachment, ...]:
    """Return the images of a result, checked by content and limited in total size."""
    found: list[Attachment] = []
    left = MOST_PICTURES
    for block in content:
        data = getattr(block, "data", "") if getattr(block, "type", "") == "image" else ""
        left -= len(data)
        sort = _sort(data) if data and left >= 0 else ""
        found += [Attachment(name, sort, data)] if sort.startswith("image/") else []
    return tuple(found)


def _sort(data: str) -> str:
    try:
        return media_of(b64decode(data, validate=True))
    except ValueError:
        return ""


def _structured(result: Any) -> str:
    given = result.structured_content
    return msgspec.json.encode(given).decode() if given is not None else "[no output]"


def shown(content: Sequence[Any]) -> str:
    """Return a server's answer as text, with placeholders for other content."""
    return "\n".join(_block(block) for block in content)


def _block(block: Any) -> str:
    inner = getattr(block, "resource", block)
    text = getattr(inner, "text", None)
    if isinstance(text, str):
        return text
    media = getattr(inner, "mime_type", None) or "unknown"
    size = len(getattr(inner, "data", None) or getattr(inner, "blob", None) or "")
    if size:
        return f"[{media}, {size * 3 // 4} bytes]"
    return f"[{getattr(inner, 'uri', None) or type(inner).__name__}]"
