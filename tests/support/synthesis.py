"""A tool whose results are put together by a synthesis, and a model that asks for it."""

from collections.abc import Callable

from bridle import Output, call, tool
from bridle.core.stream import ModelRequest
from bridle.testing.scripted import Scripted


@tool
async def gather(source: str) -> Output:
    """Ask a source."""
    return Output(f"{source} says yes", synthesize=True)


def playing(answer: Scripted) -> Callable[[ModelRequest], Scripted]:
    def play(request: ModelRequest) -> Scripted:
        if request.purpose == "synthesis":
            return answer
        if request.messages[-1].id.endswith(".result"):
            return "as usual"
        return [call("gather", source="one"), call("gather", source="two")]

    return play
