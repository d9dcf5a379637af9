"""Continue a conversation after a restart, under an id of one's own."""

from pathlib import Path

from pydantic_ai import Agent, Conversation, ConversationTypeAdapter
from scripted import scripted


def process() -> Agent:
    return Agent(scripted(["I will remember.", "You said 7."]))


kept = Path("chat_ann.json")
first = process().run_sync("Remember 7.", conversation=Conversation(conversation_id="chat_ann"))
kept.write_bytes(ConversationTypeAdapter.dump_json(first.conversation))
conversation = ConversationTypeAdapter.validate_json(kept.read_bytes())
second = process().run_sync("What did I say?", conversation=conversation)
assert (second.output, len(second.all_messages())) == ("You said 7.", 4)
