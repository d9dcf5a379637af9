"""Images and files with a prompt."""

from pathlib import Path

from bridle import Agent, ScriptedModel

Path("note.txt").write_text("Buy tea.")
image = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
agent = Agent(model=ScriptedModel(["Tea."], takes=["image"]))
result = agent.run_sync("What is this?", files=["note.txt", image])
assert ("Buy tea." in result.messages[0].text, "image/gif" in str(result.messages[0])) == (True, True)
