"""The built-in tools on real files and real processes."""

import time
from base64 import b64encode

import pytest
from support.session_tools import TOOLS, Use

from bridle.core.messages import Attachment
from bridle.core.permission import DEFAULT_RULES, Access, judge
from bridle.errors import ToolFailed
from bridle.mcp.tools import resource_tool
from bridle.tools.skill import skill_tool


@pytest.fixture
def project(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.py").write_text("a = 1\nb = 2\na = 1\n")
    (tmp_path / "readme.md").write_text("# Title\n")
    return tmp_path


@pytest.fixture
def use(project):
    return Use(project)


def test_read_numbers_the_lines_and_says_how_to_read_on(use):
    assert use("read", filePath="src/one.py", limit=2).text == (
        "     1\ta = 1\n     2\tb = 2\n\n[1 more line; read on with offset 3]"
    )
    assert use("read", filePath="src/one.py", offset="3").text == "     3\ta = 1"


def test_read_lists_a_folder_and_refuses_what_is_no_text(use, project):
    assert use("read", filePath=".").text == "readme.md\nsrc/"
    (project / "image.bin").write_bytes(b"\x89PNG\0\0")
    with pytest.raises(ToolFailed, match=r"image\.bin is a binary file"):
        use("read", filePath="image.bin")


@pytest.mark.parametrize(
    ("content", "media"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(8), "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7\ntext", "application/pdf"),
    ],
)
def test_read_shows_images_and_documents_whatever_they_are_called(use, project, content, media):
    (project / "horse.txt").write_bytes(content)
    shown = use("read", filePath="horse.txt")
    assert shown.text == f"[{media}, {len(content)} bytes: shown below]"
    assert shown.attached == (Attachment("horse.txt", media, b64encode(content).decode()),)
    (project / "horse.txt").write_bytes(content + bytes(5_000_000))
    with pytest.raises(ToolFailed, match=r"too large to look at"):
        use("read", filePath="horse.txt")


@pytest.mark.parametrize("text", ["GIF8 is a format.\n", "%PDF- is how it begins\n"])
def test_words_that_begin_like_a_picture_are_words(use, project, text):
    (project / "notes.txt").write_text(text)
    assert use("read", filePath="notes.txt").text == f"     1\t{text.strip()}"


def test_a_missing_file_comes_with_a_suggestion(use):
    with pytest.raises(ToolFailed, match=r"src/onee\.py does not exist\. Did you mean src/one\.py\?"):
        use("read", filePath="src/onee.py")


def test_a_device_is_not_read(use, project):
    (project / "zero").symlink_to("/dev/zero")
    with pytest.raises(ToolFailed, match="is not a regular file"):
        use("read", filePath="zero")


def test_edit_needs_a_file_that_was_read_and_has_not_changed_since(use, project):
    change = {"filePath": "src/one.py", "oldString": "b = 2", "newString": "b = 3"}
    with pytest.raises(ToolFailed, match="was not read in this session"):
        use("edit", **change)
    use("read", filePath="src/one.py")
    (project / "src" / "one.py").write_text("b = 2\n")
    with pytest.raises(ToolFailed, match="has changed since it was last read"):
        use("edit", **change)
    use("read", filePath="src/one.py")
    assert use("edit", **change).files == ("src/one.py",)
    assert (project / "src" / "one.py").read_text() == "b = 3\n"


def test_edit_refuses_what_is_ambiguous_or_not_there(use, project):
    use("read", filePath="src/one.py")
    with pytest.raises(ToolFailed, match="occurs 2 times"):
        use("edit", filePath="src/one.py", oldString="a = 1", newString="a = 9")
    with pytest.raises(ToolFailed, match="was not found"):
        use("edit", filePath="src/one.py", oldString="c", newString="d")
    assert use("edit", filePath="src/one.py", oldString="a = 1", newString="a = 9", replaceAll=True).text == (
        "Replaced in src/one.py: 2 places."
    )


def test_edit_keeps_the_line_endings_of_a_file(use, project):
    (project / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    use("read", filePath="dos.txt")
    use("edit", filePath="dos.txt", oldString="one\ntwo", newString="three\nfour")
    assert (project / "dos.txt").read_bytes() == b"three\r\nfour\r\n"


def test_write_makes_folders_and_does_not_overwrite_what_was_not_read(use, project):
    assert use("write", filePath="new/deep/file.txt", content="x").files == ("new/deep/file.txt",)
    with pytest.raises(ToolFailed, match="was not read"):
        use("write", filePath="readme.md", content="gone")
    assert (project / "readme.md").read_text() == "# Title\n"


def test_glob_and_grep_find_and_leave_ignored_files_out(use, project):
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("*.log\n")
    (project / "noise.log").write_text("a = 1\n")
    assert use("glob", pattern="**/*.py").text == "src/one.py"
    assert use("grep", pattern="a = 1", include="*.log").text in ("Nothing found.", "noise.log:1:a = 1")
    assert use("grep", pattern="b = .").text == "src/one.py:2:b = 2"
    assert use("grep", pattern="a", path="src/one.py", include="*.py").text.splitlines() == [
        "src/one.py:1:a = 1",
        "src/one.py:3:a = 1",
    ]
    assert use("grep", pattern="nowhere").text == "Nothing found."
    assert use("grep", pattern="(").failed


def test_bash_gives_output_status_and_folder_and_ends_what_it_leaves(use, project):
    assert use("bash", command="echo out; echo err >&2").text == "out\nerr\n"
    failed = use("bash", command="echo no; exit 3")
    assert (failed.text, failed.failed) == ("no\n\n\n[exit status 3]", True)
    assert use("bash", command="pwd", workdir="src").text == f"{project}/src\n"
    late = use("bash", command="echo begun; sleep 30", timeout=200)
    assert (late.text, late.failed) == ("begun\n\n\n[timed out after 0.2 s]", True)
    left = use("bash", command="(sleep 2; touch survived) & echo begun")
    assert left.text == "begun\n"
    time.sleep(2.2)
    assert not (project / "survived").exists()


def test_bash_output_is_bounded_in_memory_and_keeps_head_and_tail(use):
    text = use("bash", command="echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last").text
    assert len(text) < 60_000
    assert text.startswith("first\n") and text.endswith("last\n")
    assert "20000012 bytes in all" in text


@pytest.mark.parametrize("name", [".env", "prod.env", ".env.local", "deep/.env"])
def test_a_search_does_not_bring_secrets_to_light(use, project, name):
    (project / "deep").mkdir()
    (project / name).write_text("KEY=secret\n")
    assert use("grep", pattern="secret").text == (
        f"Nothing found.\n\n[left out because reading them needs permission: {name}]"
    )
    asked = TOOLS["grep"].accesses(TOOLS["grep"].check({"pattern": "x", "path": name}), project)
    assert judge(DEFAULT_RULES, asked[0]) == "ask"


def test_a_long_list_says_how_much_is_left_out(use, project):
    for n in range(120):
        (project / f"file{n}.txt").touch()
    lines = use("glob", pattern="*.txt").text.splitlines()
    assert (len(lines), lines[-1]) == (102, "[only the newest 100; narrow the pattern for others]")


OUTSIDE = ["../other", "/etc/passwd", "src/../../x", "link/x", "~/.ssh/id_rsa"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_lies_outside_the_project_needs_a_permission_of_its_own(project, path):
    (project / "link").symlink_to("/etc")
    for name, field in (("read", "filePath"), ("edit", "filePath"), ("write", "filePath"), ("grep", "path")):
        more = {"oldString": "a", "newString": "b", "content": "c", "pattern": "d"}
        tool = TOOLS[name]
        known = {key: value for key, value in more.items() if key in tool.spec.schema["properties"]}
        needed = tool.accesses(tool.check({field: path, **known}), project)
        assert [access.permission for access in needed][-1] == "external_directory"


def test_what_lies_inside_needs_the_tools_own_permission_alone(project):
    tool = TOOLS["read"]
    assert tool.accesses(tool.check({"filePath": "src/./one.py"}), project) == (Access("read", "src/one.py"),)
    bash = TOOLS["bash"]
    assert bash.accesses(bash.check({"command": "git status"}), project) == (
        Access("bash", "git status", always="git status *"),
    )


def test_every_tool_is_described_beside_its_file_and_has_a_sound_schema():
    for name, tool in TOOLS.items():
        assert tool.spec.description
        assert tool.spec.schema["type"] == "object"
        assert all("description" in field for field in tool.spec.schema["properties"].values()), name
    assert [name for name, tool in TOOLS.items() if tool.repeatable] == [
        *("read", "glob", "grep", "list"),
    ]


@pytest.mark.parametrize("made", [skill_tool({}), resource_tool({})], ids=["skill", "resource"])
def test_what_is_made_for_a_session_is_not_safe_to_repeat_either(made):
    assert not made.repeatable


@pytest.mark.parametrize("name", ["todowrite", "todoread", "webfetch"])
def test_a_call_that_leaves_files_alone_needs_no_snapshot(name):
    assert TOOLS[name].leaves_files
