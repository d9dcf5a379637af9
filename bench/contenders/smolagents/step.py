"""smolagents' agent that calls tools, in memory."""

from pathlib import Path

from smolagents import ChatMessage, LogLevel, MessageRole, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from bench.contenders.step_work import TEXT, add_up, arguments_of, begin_request, measure


@tool
def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: one
        b: another
    """
    return add_up(a, b)


class FakeModel(Model):
    def __init__(self, steps: int) -> None:
        super().__init__(model_id="fake")
        self.steps = steps

    def generate(self, messages, **_) -> ChatMessage:
        number = begin_request()
        name, arguments, text = "add", arguments_of(number), TEXT
        if number > self.steps:
            name, arguments, text = "final_answer", {"answer": "done"}, "done"
        function = ChatMessageToolCallFunction(arguments=arguments, name=name)
        call = ChatMessageToolCall(function=function, id=f"call_{number}", type="function")
        return ChatMessage(role=MessageRole.ASSISTANT, content=text, tool_calls=[call])


def main(steps: int, data: Path) -> str:
    agent = ToolCallingAgent([add], FakeModel(steps), max_steps=10 * steps, verbosity_level=LogLevel.OFF)
    return str(agent.run("Add."))


if __name__ == "__main__":
    measure("smolagents", main)
