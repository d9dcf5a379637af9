"""The report of a session, opened in a real browser: complete, quiet, and without a word that runs."""

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import sync_playwright
from support.cli_home import Home, calls
from support.planted_secrets import NAMED_SECRETS, SHAPED_SECRETS

from bridle import Runtime, RuntimeConfig, ScriptedModel, Settings, call, tool
from bridle.config.settings import Behavior, LimitSettings, TreeSettings
from bridle.core.agent import AgentDefinition, Price
from bridle.core.states import Usage
from bridle.surfaces.cli.transfer import made as made_page
from bridle.testing import Reply

HOSTILE = "<script>document.title='OWNED'</script><img src=x onerror=document.title='OWNED'>\u202egnp.exe\x1b[31m"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home" / "project").mkdir(parents=True)
    return Home(tmp_path / "home", tmp_path / "home" / "project")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def look(browser):
    """Open a page, and be told of everything that it asks for or complains about."""
    pages = []

    def opened(path, width=1180, scheme="light"):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.heard = []
        page.on("request", lambda request: page.heard.append(request.url))
        page.on("console", lambda message: page.heard.append(message.text))
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()


def report_of(home, session):
    done = home.run("report", session, "-o", "../report.html")
    assert (done.returncode, done.stdout) == (0, "written: ../report.html\n"), done.stderr
    path = home.folder / "report.html"
    assert path.stat().st_mode & 0o777 == 0o600
    return path


def test_a_turn_is_shown_as_a_picture_with_its_steps_calls_limits_and_changes(home, look):
    (home.project / "notes.txt").write_text("one\n")
    script = home.script(
        {
            "text": "First.",
            "reasoning": "Hm.",
            "usage": {"input": 900, "output": 40},
            **calls(("bash", {"command": "echo two >> notes.txt; sleep 0.2"}), ("read", {"filePath": "missing"})),
        },
        {"text": "The answer.", "usage": {"input": 100, "output": 50, "cache_read": 900}},
    )
    _, lines = home.json("--model", script, "--on-ask", "allow", "--steps", "9", "--max-tokens", "900000", "Do it.")
    path = report_of(home, lines[-1]["session"])
    page = look(path)
    assert page.heard == [path.as_uri()], "one file, and not a word of complaint"
    assert page.title() == "Do it."
    facts = dict(reversed(fact.split("\n")) for fact in page.locator(".facts div").all_inner_texts())
    assert (facts["turn"], facts["steps"], facts["calls"]) == ("1", "2", "2")
    bars = page.locator("figure.wide rect")
    assert [bar.get_attribute("class") for bar in bars.all()] == ["model", "model", "done", "failed"]
    assert page.locator(".line").count() == 3
    assert page.locator("rect.cached").count() == 1
    assert page.locator(".answer").inner_text() == "The answer."
    assert page.locator(".diff summary").text_content() == "notes.txt +1 -0"
    assert page.locator(".diff pre .plus").all_inner_texts() == ["+two\n"]
    page.get_by_text("open all").click()
    assert page.get_by_text("First.", exact=True).last.is_visible()
    page.locator(".call summary").first.click()
    assert page.get_by_text("echo two >> notes.txt; sleep 0.2").last.is_visible()


def test_light_and_dark_follow_the_reader_and_can_be_changed(home, look):
    path = report_of(home, home.json("--model", home.script({"text": "Hello."}), "go")[1][-1]["session"])
    light, dark = look(path), look(path, scheme="dark")

    def ground(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert (ground(light), ground(dark)) == ("rgb(251, 251, 250)", "rgb(20, 23, 26)")
    light.locator("#theme").click()
    dark.locator("#theme").click()
    assert (ground(light), ground(dark)) == ("rgb(20, 23, 26)", "rgb(251, 251, 250)")


@pytest.mark.parametrize("width", [360, 700, 1180])
def test_nothing_is_wider_than_the_window(home, look, width):
    long = {"command": "echo " + "x" * 400}
    script = home.script({"text": "word" * 200, **calls(("bash", long))}, {"text": "Done."})
    path = report_of(home, home.json("--model", script, "--on-ask", "allow", "y" * 300)[1][-1]["session"])
    page = look(path, width)
    page.get_by_text("open all").click()
    for summary in page.locator(".call summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_words_of_models_and_tools_never_run_and_are_shown_as_they_are(home, look):
    (home.project / "<b>.txt").write_text("x")
    script = home.script(
        {
            "text": HOSTILE,
            "reasoning": HOSTILE,
            **calls(("bash", {"command": f"printf '%s' \"{HOSTILE}\" > '<b>.txt'"})),
        },
        {"text": HOSTILE},
        title=HOSTILE,
    )
    _, lines = home.json("--model", script, "--on-ask", "allow", HOSTILE.replace("\x1b", ""))
    page = look(report_of(home, lines[-1]["session"]))
    page.get_by_text("open all").click()
    assert page.title() != "OWNED" and len(page.heard) == 1
    assert page.locator("img").count() == 0
    shown = page.locator("body").inner_text()
    assert "<script>document.title='OWNED'</script>" in shown
    assert "\u202e" not in page.content() and "\x1b" not in page.content()


def test_secrets_are_left_out(home):
    named = {name: f"planted-{number}-{name.lower()}" for number, name in enumerate(NAMED_SECRETS.split())}
    planted = {**named, **SHAPED_SECRETS}
    words = "\n".join(f"{name}={value}" for name, value in planted.items())
    made = ("write", {"filePath": "keys.txt", "content": words}), ("bash", {"command": f"cat <<'E'\n{words}\nE"})
    script = home.script({"text": words, "reasoning": words, **calls(*made)}, {"text": words})
    _, lines = home.json("--model", script, "--on-ask", "allow", words)
    page = report_of(home, lines[-1]["session"]).read_text()
    lines = [line for value in planted.values() for line in value.splitlines() if "-----" not in line]
    assert [line for line in lines if line in page] == []


def test_subagents_are_part_of_the_picture(home, look):
    task = {"description": "d", "prompt": "CHILD", "subagent_type": "general"}
    script = home.script(calls(("task", task), ("task", task)), {"text": "Child done."}, {"text": "All done."})
    page = look(report_of(home, home.json("--model", script, "--on-ask", "allow", "go")[1][-1]["session"]))
    assert page.locator("rect.child").count() == 2
    lanes = page.locator("figure.wide").first.locator("text.lane").all_text_contents()
    assert lanes.count("↳ general") == 2
    page.get_by_text("open all").first.click()
    page.locator(".call > summary").first.click()
    assert page.locator(".below").first.is_visible()


@tool
async def look_at(key: str) -> str:
    """Look."""
    return f"saw {key}"


async def two_thousand_steps():
    calls = (
        Reply(calls=(call("look_at", key=str(n)),), usage=Usage(1_000 + n, 50, cache_read=n)) for n in range(1_999)
    )
    model = ScriptedModel([*calls, "Done."], price=Price(3.0, 15.0), context_window=10_000_000)
    settings = Settings(
        behavior=Behavior(ceiling=2_500), limits=LimitSettings(tool_calls=5_000), tree=TreeSettings(steps=5_000)
    )
    agents = [AgentDefinition("build", model="m")]
    async with Runtime(
        RuntimeConfig(models={"m": model}, settings=settings, agents=agents, tools=[look_at])
    ) as runtime:
        session = await runtime.create()
        result = await runtime.wait(session, await runtime.prompt(session, "go"))
        return result, await made_page(runtime, session)


def test_a_session_of_two_thousand_steps_is_one_page_that_opens(tmp_path, look):
    with ThreadPoolExecutor(1) as apart:
        result, html = apart.submit(asyncio.run, two_thousand_steps()).result()
    assert (result.reason, result.steps, len(html) < 8_000_000) == ("answered", 2_000, True)
    path = tmp_path / "report.html"
    path.write_text(html)
    page = look(path)
    assert (page.locator("details.step").count(), len(page.heard)) == (2_000, 1)
    step = page.locator("details.step").nth(1_500)
    step.locator("summary").first.click()
    step.locator(".call summary").click()
    assert "saw 1500" in step.inner_text()
