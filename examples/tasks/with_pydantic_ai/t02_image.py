"""Show the model an image that a tool has made."""

from base64 import b64decode

from pydantic_ai import Agent, BinaryContent
from scripted import call, scripted

PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")


def chart(quarter: int) -> list[str | BinaryContent]:
    """Draw the sales of a quarter."""
    return [f"sales of quarter {quarter}", BinaryContent(PNG, media_type="image/png")]


model = scripted([call("chart", quarter=2), "They rise."])
result = Agent(model, tools=[chart]).run_sync("How are sales?")
assert (result.output, len(result.all_messages()[2].parts[0].files)) == ("They rise.", 1)
