"""Rules about web addresses hold for every address that a page leads to."""

import asyncio
import http.server
import threading

import pytest

from bridle import Rule, Runtime, RuntimeConfig, ScriptedModel, call
from bridle.core.agent import AgentDefinition
from bridle.core.inbox import TurnOptions
from bridle.tools.registry import builtin_tools


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        leads = {"/docs/r": "/secret/1", "/docs/s": "/docs/end"}.get(self.path, "")
        self.send_response(302 if leads else 200)
        self.send_header("Location", leads) if leads else self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *words):
        pass


@pytest.fixture
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def fetched(directory, url, *rules, answer=None):
    """What a model reads of a page."""

    async def work():
        agents = [AgentDefinition("build", model="m", permission=(Rule("private_network", "*", "allow"), *rules))]
        model = ScriptedModel([call("webfetch", url=url), "Done."])
        tools = [tool for tool in builtin_tools() if tool.spec.name == "webfetch"]
        async with Runtime(
            RuntimeConfig(directory=directory, models={"m": model}, agents=agents, tools=tools)
        ) as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "go", options=TurnOptions(on_ask="pause"))
            result = await runtime.wait(session, prompt)
            if answer is not None:
                await runtime.answer(session, result.asks[0].id, answer)
                await runtime.wait(session, prompt)
            return (await runtime.load(session)).call("1.1.1.0.0").state.output

    return asyncio.run(work())


def test_a_page_on_the_same_host_is_judged_by_its_path(site, tmp_path):
    rules = (Rule("webfetch", "*", "deny"), Rule("webfetch", f"{site}/docs/*", "allow"))
    assert fetched(tmp_path, f"{site}/docs/s", *rules) == "/docs/end"
    told = fetched(tmp_path, f"{site}/docs/r", *rules)
    assert f"{site}/secret/1, the target of a redirect, was not allowed" in told


@pytest.mark.parametrize(("answer", "reads"), [("once", False), ("always", True)])
def test_an_approval_of_one_page_is_for_no_other_and_an_always_for_its_site(site, tmp_path, answer, reads):
    told = fetched(tmp_path, f"{site}/docs/r", Rule("webfetch", "*", "ask"), answer=answer)
    assert (told == "/secret/1") is reads, told


def test_an_always_answers_no_deny_of_a_page_to_which_another_leads(site, tmp_path):
    rules = (Rule("webfetch", "*", "ask"), Rule("webfetch", f"{site}/secret/*", "deny"))
    assert "was not allowed" in fetched(tmp_path, f"{site}/docs/r", *rules, answer="always")
