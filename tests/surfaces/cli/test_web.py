"""`bridle web`: the link to the page of a running server, or of one that it starts; never a secret as an argument."""

import re
import stat

import httpx2
import pytest
from support.served_home import new_home


@pytest.fixture
def served():
    home = new_home()
    yield home
    home.end()
    home.home.run("serve", "stop")


def logged_in(link):
    url, _, code = link.partition("/#code=")
    with httpx2.Client(base_url=url) as client:
        assert "Bridle" in client.get("/").text
        key = client.post("/bridle/logins/exchange", json={"code": code}).json()
        state = client.get("/bridle/server", headers={"X-Bridle-Page": key["header"]})
        assert client.post("/bridle/logins/exchange", json={"code": code}).status_code == 403
        return state.json()


def test_without_a_browser_the_link_and_the_tunnel_are_printed(served):
    server = served.serve()
    done = served.home.run("web")
    assert done.returncode == 0, done.stderr
    state = logged_in(done.stdout.strip())
    assert (state["address"], state["right"]) == (server.url, "drive")
    assert f"ssh -L {server.port}:localhost:{server.port} " in done.stderr


def test_a_browser_gets_a_file_of_this_user_alone_and_no_code_as_an_argument(served, tmp_path):
    server = served.serve()
    told = tmp_path / "arguments"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {told}.new; cp "${{1#file://}}" {told}.page; mv {told}.new {told}\n')
    browser.chmod(0o700)
    # A copy keeps neither name nor mode: the file itself is looked at.
    done = served.home.run("web", DISPLAY=":0", BROWSER=f"{browser} %s")
    assert done.returncode == 0, done.stderr
    (file,) = (served.folder / ".local" / "share" / "bridle" / "run").glob("*.html")
    assert told.read_text().strip() == file.as_uri()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    link = re.search(r"url=([^\"]+)", (tmp_path / "arguments.page").read_text())
    assert logged_in(link.group(1))["address"] == server.url
    assert "code=" not in done.stdout + done.stderr


def test_a_server_is_started_for_a_directory_that_none_offers(served):
    done = served.home.anew("web", "--port", "0", "--link")
    assert done.returncode == 0, done.stderr
    assert logged_in(done.stdout.strip())["directories"] == [str(served.project)]
    again = served.home.run("web", "--link")
    assert again.stdout.split("#")[0] == done.stdout.split("#")[0]
    refused = served.home.run("web", "--port", "1", "--dir", "nowhere")
    assert (refused.returncode, "nowhere" in refused.stderr) == (2, True)


def test_in_the_home_folder_the_running_server_is_opened_and_none_is_started(served):
    server = served.serve()
    served.home.project = served.folder
    done = served.home.run("web", "--link")
    assert done.returncode == 0, done.stderr
    assert logged_in(done.stdout.strip())["address"] == server.url
    server.stop()
    for words, way in ((("web",), "bridle web --dir ."), (("serve", "--port", "0"), "bridle serve --dir .")):
        refused = served.home.run(*words)
        assert (refused.returncode, way in refused.stderr) == (2, True), refused.stderr
