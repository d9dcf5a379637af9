"""The three clients in Python: python_clients.py ADDRESS. Runs with the interpreter that has them."""

import asyncio
import sys

address = sys.argv[1]


def official():
    """`opencode-ai`, OpenCode's own; it is older than the server, and needs the model in the body."""
    from opencode_ai import Opencode

    client = Opencode(base_url=address)
    session = client.session.create(extra_body={})
    model = {"model": {"providerID": "bridle", "modelID": "m"}}
    parts = [{"type": "text", "text": "hello"}]
    client.session.chat(session.id, model_id="m", provider_id="bridle", parts=parts, extra_body=model)
    messages = client.session.messages(session.id)
    texts = [part.text for message in messages for part in message.parts if part.type == "text"]
    assert texts == ["hello", "You said: hello. This is **the answer**."], texts
    assert next(each.id for each in client.session.list()) == session.id
    assert client.config.get() is not None
    assert client.file.status() == []
    assert client.find.files(query="nothing-like-it") == []
    with client.event.list() as stream:
        assert next(iter(stream)).type == "server.connected"
    assert client.session.abort(session.id) is True
    assert client.session.delete(session.id) is True


def typed():
    """`opencode-py`, with typed answers."""
    from opencode import OpencodeClient

    client = OpencodeClient(base_url=address)
    assert client.health().healthy
    session = client.session_create()
    sent = {"parts": [{"type": "text", "text": "write"}], "model": {"providerID": "bridle", "modelID": "m"}}
    client.session_send(session.id, sent)
    assert len(client.session_messages(session.id)) == 3
    assert client.file_read("notes.txt").content == "one\ntwo\n"
    assert client.find_files("notes") == ["notes.txt"]
    client.session_diff(session.id), client.session_todo(session.id)
    client.vcs_get(), client.path_get(), client.command_list(), client.app_agents(), client.provider_list()
    fork = client.session_fork(session.id)
    assert (fork["id"] if isinstance(fork, dict) else fork.id) != session.id
    client.session_delete(session.id)


async def agent():
    """`opencode-agent-sdk`, in the manner of other agents' SDKs."""
    from opencode_agent_sdk import AgentOptions, AssistantMessage, SDKClient, TextBlock

    client = SDKClient(options=AgentOptions(model="m", provider_id="bridle", server_url=address))
    await client.connect()
    await client.query("hello")
    texts = []
    async for message in client.receive_response():
        if isinstance(message, AssistantMessage):
            texts += [block.text for block in message.content if isinstance(block, TextBlock)]
    await client.disconnect()
    assert "You said: hello. This is **the answer**." in "".join(texts), texts


if __name__ == "__main__":
    official()
    typed()
    asyncio.run(agent())
    print("3 clients in Python work")
