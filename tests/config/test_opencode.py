"""Every key of an `opencode.json` is taken over, or named in a notice."""

import json

from support.cli_home import ForkedHome
from support.served_model import serving

from bridle.config.load import load

CONTENT = {
    "$schema": "https://opencode.ai/config.json",
    "snapshot": False,
    "compaction": {"auto": True, "reserved": 5_000, "tail_turns": 3},
    "instructions": ["https://example.org/rules.md", "docs/*.md"],
    "command": {"look": {"template": "Look.", "subtask": True, "colour": "red"}},
    "provider": {
        "ours": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Ours",
            "api": "http://127.0.0.1:9/v1",
            "env": ["OUR_KEY"],
            "whitelist": ["a"],
            "options": {"setCacheKey": True},
            "models": {
                "alias": {
                    "id": "vendor/real-name",
                    "name": "Alias",
                    "modalities": {"input": ["text", "image", "audio"], "output": ["text"]},
                    "tool_call": True,
                },
                "blind": {"modalities": {"input": ["text"]}},
            },
        }
    },
    "mcp": {"one": {"type": "local", "command": ["x"], "colour": "red"}},
    "lsp": {},
}
LEFT = [
    "command.look: not taken over: colour",
    "the server one: not taken over: colour",
    "provider.ours: not taken over: whitelist",
    "provider.ours.options: not taken over: setCacheKey",
    "provider.ours.models.alias: not taken over: tool_call",
    "compaction: not taken over: tail_turns",
    "not taken over: lsp",
]


def test_every_key_is_taken_or_named(tmp_path):
    (tmp_path / "opencode.json").write_text(json.dumps(CONTENT))
    loaded = load(tmp_path, environment={"HOME": str(tmp_path / "home")}, trusted=True)
    settings = loaded.settings
    assert (settings.snapshots.enabled, settings.compaction.reserved) == (False, 5_000)
    assert settings.instructions == ["https://example.org/rules.md", f"{tmp_path}/docs/*.md"]
    assert settings.commands["look"].subtask
    models = settings.models
    assert (models["ours/alias"].id, models["ours/alias"].takes) == ("vendor/real-name", ["image"])
    assert models["ours/blind"].takes == []
    provider = settings.providers["ours"]
    assert (provider.wire, provider.base_url, provider.key_env) == ("chat", "http://127.0.0.1:9/v1", "OUR_KEY")
    assert list(loaded.notices) == [f"{tmp_path / 'opencode.json'}: {words}" for words in LEFT]


def test_a_model_is_asked_by_its_own_name_and_the_window_keeps_what_is_reserved(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    home = ForkedHome(tmp_path, project)
    with serving(then="Done.") as server:
        models = {"alias": {"id": "vendor/real-name", "limit": {"context": 40_000, "output": 4_000}}}
        options = {"baseURL": f"{server.address}/v1", "apiKey": "{env:OUR_KEY}"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
        content = {"provider": {"ours": provider}, "model": "ours/alias", "compaction": {"reserved": 15_000}}
        (project / "opencode.json").write_text(json.dumps(content))
        _, lines = home.json("--trust", "go", OUR_KEY="key")
        assert (server.bodies[0]["model"], lines[-1]["text"]) == ("vendor/real-name", "Done.")
    exported = json.loads(home.run("export", lines[-1]["session"]).stdout)
    (start,) = parts(exported, "turn_start")
    assert (start["model"], start["compact_at"]) == ("ours/alias", 25_000)


def parts(value, kind):
    """Every part of a kind in an exported session."""
    if isinstance(value, dict):
        if value.get("kind") == kind:
            yield value
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from parts(each, kind)


def test_instructions_at_an_address_are_fetched_after_trust_and_a_failure_is_told(tmp_path):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    asked = []

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            if self.path == "/elsewhere.md":
                self.send_response(302)
                self.send_header("Location", "/rules.md")
            else:
                self.send_response(200 if self.path in ("/rules.md", "/huge.md") else 404)
            self.end_headers()
            self.wfile.write(b"Speak softly." if self.path == "/rules.md" else b"x" * 300_000)

        def log_message(self, *_):
            """Say nothing."""

    project = tmp_path / "project"
    project.mkdir()
    home = ForkedHome(tmp_path, project)
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as pages:
        Thread(target=pages.serve_forever, daemon=True).start()
        try:
            top = f"http://127.0.0.1:{pages.server_address[1]}"
            names = ["rules.md", "missing.md", "huge.md", "elsewhere.md"]
            content = {"instructions": [f"{top}/{name}" for name in names]}
            (project / "opencode.json").write_text(json.dumps(content))
            with serving(then="Done.") as server:
                config = tmp_path / ".config" / "bridle"
                config.mkdir(parents=True)
                (config / "config.toml").write_text(
                    f'[providers.ours]\nwire = "chat"\nauth = "none"\nbase_url = "{server.address}/v1"\n'
                )
                _, lines = home.json("--model", "ours/m", "go")
                assert asked == []
                assert f"fetches instructions from {top}/rules.md" in str(lines)
                code, lines = home.json("--model", "ours/m", "--trust", "go", NO_PROXY="127.0.0.1")
                system = server.bodies[-1]["messages"][0]["content"]
        finally:
            pages.shutdown()
    assert (code, sorted(asked)) == (0, sorted(f"/{name}" for name in names))
    assert f"Instructions from {top}/rules.md:\nSpeak softly." in system
    told = [line["text"] for line in lines if line["type"] == "notice"]
    for name, why in (
        ("missing.md", "HTTP 404"),
        ("huge.md", "larger than 200000 bytes"),
        ("elsewhere.md", "it redirects to /rules.md: use that address"),
    ):
        assert f"instructions from {top}/{name} are missing: {why}" in told
