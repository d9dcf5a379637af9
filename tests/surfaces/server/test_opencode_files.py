"""Files over OpenCode's API: search, folders, contents, the branch, changes since a commit; and what is refused."""

import os
import subprocess

from support.opencode_person import tell
from support.opencode_server import scripted_runtime, told_by_words, with_snapshots

from bridle.core.permission import Rule

RULES = (Rule("*", "*", "allow"), Rule("read", "secret.txt", "ask"), Rule("external_directory", "*", "ask"))
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")


def git(folder, *words):
    done = subprocess.run(["git", *IDENTITY, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def project(folder):
    """A repository with one commit, a change, a new file and an ignored one."""
    git(folder, "init", "-q")
    (folder / "src").mkdir()
    (folder / "src" / "main.py").write_text("def main():\n    return 1\n")
    (folder / "secret.txt").write_text("needle\n")
    (folder / ".gitignore").write_text("ignored.txt\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    git(folder, "pack-refs", "--all")
    (folder / "src" / "main.py").write_text("def main():\n    return 2  # needle\n")
    (folder / "new.txt").write_text("one\ntwo\n")
    (folder / "ignored.txt").write_text("needle\n")


def story(folder, work):
    home = folder.with_name(folder.name + "-home")
    home.mkdir()
    tell(lambda: scripted_runtime(folder, told_by_words, rules=RULES, user=with_snapshots(home)), work)


def test_files_are_found_listed_and_read(tmp_path):
    project(tmp_path)

    async def work(one):
        assert await one.get("/find/file?query=main") == ["src/main.py"]
        assert await one.get("/find/file?query=src&type=directory") == ["src/"]
        found = await one.get("/api/fs/find?query=main&limit=1")
        assert found["data"] == [{"path": "src/main.py", "type": "file"}]
        assert found["location"]["directory"] == str(tmp_path)
        listed = await one.get("/file?path=src")
        assert [(each["path"], each["type"]) for each in listed] == [("src/main.py", "file")]
        assert listed[0]["absolute"] == str(tmp_path / "src" / "main.py")
        assert (await one.get("/file/content?path=new.txt"))["content"] == "one\ntwo\n"
        (tmp_path / "bits").write_bytes(b"\0\1")
        assert (await one.get("/file/content?path=bits"))["encoding"] == "base64"
        assert "is not a folder" in (await one.get("/file?path=new.txt", 400))["data"]["message"]

    story(tmp_path, work)


def test_text_is_searched_by_a_regular_expression_where_the_read_tool_needs_no_ask(tmp_path):
    project(tmp_path)

    async def work(one):
        (match,) = await one.get("/find?pattern=n%5Be%5D%2Bdle")
        assert (match["path"], match["line_number"]) == ({"text": "src/main.py"}, 2)
        assert [each["match"]["text"] for each in match["submatches"]] == ["needle"]
        assert "regex" in (await one.get("/find?pattern=(", 400))["data"]["message"]
        for path in ("secret.txt", "../outside", "/etc/passwd"):
            assert (await one.get(f"/file/content?path={path}", 403))["name"] == "ForbiddenError"

    story(tmp_path, work)


def test_attached_files_are_those_that_the_read_tool_needs_no_ask_for(tmp_path):
    project(tmp_path)

    async def work(one):
        session = await one.session()

        def prompt(url):
            parts = [{"type": "text", "text": "hello"}, {"type": "file", "url": url, "mime": "text/plain"}]
            return {"parts": parts}

        for path in (tmp_path / "secret.txt", tmp_path / ".." / "outside", "/etc/passwd"):
            for url in (f"file://{path}", f"file:///{str(path).replace('.', '%2e')}"):
                refused = await one.post(f"/session/{session}/message", prompt(url), 403)
                assert refused["name"] == "ForbiddenError"
        for url in ("https://example.org/new.txt", "file://elsewhere/new.txt", "file:"):
            await one.post(f"/session/{session}/message", prompt(url), 400)
        assert await one.get(f"/session/{session}/message") == []
        answer = await one.post(f"/session/{session}/message", prompt(f"file://{tmp_path}/new.txt"))
        assert answer["info"]["finish"] == "stop"
        (shown, _) = await one.get(f"/session/{session}/message")
        assert [part["type"] for part in shown["parts"]] == ["text", "file"]

    (tmp_path.parent / "outside").write_text("needle\n")
    story(tmp_path, work)


def test_changes_since_the_commit_and_the_branch_are_told_without_running_the_projects_git_settings(tmp_path):
    project(tmp_path)
    ran = tmp_path.with_name(tmp_path.name + "-ran")
    for key in ("core.fsmonitor", "diff.external", "filter.x.clean"):
        git(tmp_path, "config", key, f"touch {ran}")
    (tmp_path / ".git" / "info" / "attributes").write_text("* filter=x\n")
    # Changed too, but the read tool would ask for it.
    (tmp_path / "secret.txt").write_text("another needle\n")

    async def work(one):
        assert await one.get("/vcs") == {"branch": "main", "default_branch": "main"}
        changes = await one.get("/vcs/diff?mode=git&context=0")
        assert [(each["file"], each["status"], each["additions"], each["deletions"]) for each in changes] == [
            ("new.txt", "added", 2, 0),
            ("src/main.py", "modified", 1, 1),
        ]
        assert "+    return 2  # needle" in changes[1]["patch"]
        added = {each["path"]: each["added"] for each in await one.get("/file/status")}
        assert added == {"new.txt": 2, "src/main.py": 1}
        git(tmp_path, "-c", "core.fsmonitor=", "-c", "filter.x.clean=cat", "checkout", "-qb", "topic")
        git(tmp_path, "-c", "core.fsmonitor=", "-c", "filter.x.clean=cat", "commit", "-qam", "Second")
        assert await one.get("/vcs") == {"branch": "topic", "default_branch": "main"}
        assert [each["file"] for each in await one.get("/vcs/diff?mode=git")] == ["new.txt"]
        assert [each["file"] for each in await one.get("/vcs/diff?mode=branch")] == ["new.txt", "src/main.py"]
        assert not os.path.exists(ran)

    story(tmp_path, work)


def test_a_folder_without_a_repository_has_no_branch_and_no_changes(tmp_path):
    async def work(one):
        assert (await one.get("/vcs"), await one.get("/vcs/diff?mode=git")) == ({}, [])

    story(tmp_path, work)
