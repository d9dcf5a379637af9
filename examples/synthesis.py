"""Ask several sources at once, and have one answer written from what they said. Plays a script: no key is needed."""

from bridle import Agent, Output, ScriptedModel, call, tool

SOURCES = {
    "almanac": "The bridge was opened in 1932.",
    "newspaper": "The bridge was opened on 19 March 1932; half a million people came.",
    "archive": "No record of an opening.",
}


@tool(repeatable=True)
def ask_source(source: str, question: str) -> Output:
    """Ask one source.

    Args:
        source: almanac, newspaper or archive
        question: what to ask it
    """
    return Output(SOURCES[source], synthesize=True)


question = "When was the bridge opened?"
model = ScriptedModel(
    [
        [call("ask_source", source=source, question=question) for source in SOURCES],
        "It was opened on 19 March 1932 (newspaper); the almanac agrees on the year, the archive has no record.",
    ]
)
agent = Agent("researcher", model=model, tools=[ask_source], steps=5)
result = agent.run_sync(question)
print(f"{result.reason} after {result.steps} step and {result.tool_calls} calls:\n{result.text}")
