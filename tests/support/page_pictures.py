"""Takes the pictures of the page for the README: a session that waits for a person, and the list on a phone.

Run by `scripts/pictures`.
"""

import shutil
import tempfile
from pathlib import Path

from support.cli_home import calls, settings
from support.page_reader import Reader, opened_browser
from support.paths import ROOT
from support.served_home import ServedHome, created, prompt, result

PICTURES = ROOT / "docs" / "pictures"
ORDERS = """def total(rows):
    result = 0
    for row in rows:
        result += row["price"]
    return result
"""
TODOS = [
    {"content": "Read the code", "status": "completed"},
    {"content": "Multiply price and quantity", "status": "in_progress"},
    {"content": "Run the tests", "status": "pending"},
]
CHANGE = {
    "filePath": "orders.py",
    "oldString": '        result += row["price"]',
    "newString": '        result += row["price"] * row["quantity"]',
}
QUESTIONS = (
    "Explain the retry policy of the client",
    "Add a --json flag to the list command",
    "Why is the build slow?",
)


def take(home: ServedHome) -> None:
    """Tell the story of the pictures, and take them."""
    (home.project / "orders.py").write_text(ORDERS)
    settings(home.home, '[permission]\nedit = "ask"\n')
    server = home.serve()
    with home.client(server) as client:
        for number, question in enumerate(QUESTIONS):
            model = home.home.script("It reads the whole tree twice.", name=f"model-{number}.json")
            session = created(client)
            result(
                client, session, prompt(client, session, question, model, options={"limits": {"steps": 9 - 4 * number}})
            )
        steps = [calls(("todowrite", {"todos": TODOS}), ("read", {"filePath": "orders.py"})), calls(("edit", CHANGE))]
        model = home.home.script(*steps, "Done.", name="model.json")
        session = created(client)
        text = "The order total is wrong when a row has a quantity. Please fix it."
        assert result(client, session, prompt(client, session, text, model))["reason"] == "paused"
    with opened_browser() as browser:
        desktop = Reader(browser, server).log_in(home, path=f"#/s/{session}")
        desktop.button("Allow once").wait_for()
        desktop.page.locator(".sidebar li").nth(3).wait_for()
        desktop.page.locator("select option", has_text="plan").wait_for(state="attached")
        desktop.page.screenshot(path=PICTURES / "page-session.png")
        phone = Reader(browser, server, "phone", "dark").log_in(home)
        phone.page.locator(".line-link").nth(2).wait_for()
        phone.page.screenshot(path=PICTURES / "page-phone.png")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="home-"))
    home = ServedHome(folder)
    try:
        take(home)
    finally:
        home.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
