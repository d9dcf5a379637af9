"""Show the model an image that a tool has made."""

from base64 import b64decode

from bridle import Agent, Media, ScriptedModel, call

PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")


def chart(quarter: int) -> list[str | Media]:
    """Draw the sales of a quarter."""
    return [f"sales of quarter {quarter}", Media(PNG)]


model = ScriptedModel([call("chart", quarter=2), "They rise."])
result = Agent(model=model, tools=[chart]).run_sync("How are sales?")
assert (result.output, "image/png" in str(result.messages[-2])) == ("They rise.", True)
