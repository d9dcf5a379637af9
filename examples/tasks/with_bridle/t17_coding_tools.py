"""Files and commands within permissions, in a sandbox."""

from pathlib import Path

from bridle import Agent, Rule, ScriptedModel, call, coding_tools

Path("repo").mkdir()
Path("repo/app.py").write_text("print('one')")
calls = [call("read", filePath="app.py"), call("read", filePath="/etc/passwd")]
edit = call("edit", filePath="app.py", oldString="one", newString="two")
agent = Agent(
    model=ScriptedModel([calls, edit, "Fixed."]),
    tools=coding_tools(web=False),
    directory="repo",
    permission=[Rule("edit", "docs/*", "deny")],
)
result = agent.run_sync("Fix it.")
assert (result.files, result.messages[3].text.startswith("not executed")) == (("app.py",), True)
