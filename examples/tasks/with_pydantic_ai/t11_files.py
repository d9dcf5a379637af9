"""Images and files with a prompt."""

from pathlib import Path

from pydantic_ai import Agent, BinaryContent
from scripted import scripted

Path("note.txt").write_text("Buy tea.")
image = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
files = [BinaryContent.from_path("note.txt"), BinaryContent(image, media_type="image/gif")]
result = Agent(scripted(["Tea."])).run_sync(["What is this?", *files])
(_, note, sent) = result.all_messages()[0].parts[0].content
assert (note.data, sent.media_type) == (b"Buy tea.", "image/gif")
