"""A tool whose results are put together by a synthesis, and a model that asks for it."""

from bridle import Output, call, tool


@tool
async def gather(source: str) -> Output:
    """Ask a source."""
    return Output(f"{source} says yes", synthesize=True)


def playing(answer):
    def play(request):
        if request.purpose == "synthesis":
            return answer
        if request.messages[-1].id.endswith(".result"):
            return "as usual"
        return [call("gather", source="one"), call("gather", source="two")]

    return play
