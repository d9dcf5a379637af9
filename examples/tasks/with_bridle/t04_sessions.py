"""Continue a conversation after a restart, under an id of one's own."""

from bridle import Agent, ScriptedModel


def process(*replies: str) -> Agent:
    return Agent(model=ScriptedModel(replies), journal="sessions.db")


process("I will remember.").run_sync("Remember 7.", id="chat_ann")
second = process("You said 7.").run_sync("What did I say?", session="chat_ann")
assert (second.output, len(second.messages)) == ("You said 7.", 4)
