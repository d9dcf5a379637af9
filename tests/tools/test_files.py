"""The file tools as models use them: what they forgive, what they keep, and what they refuse."""

import asyncio
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.session_tools import TOOLS, Use

from bridle.errors import ToolFailed
from bridle.tools.command_setup import CommandSetup
from bridle.tools.tool import Invocation
from bridle.workspace import open_beneath
from bridle.workspace.files import Files

NOBODY, SOME_GROUP = 65_534, 54_321
PYTHON = """class Horse:
    def trot(self, speed):
        if speed > 5:
            return "too fast"
        return "trotting"

    def rest(self):
        return "resting"
"""


@pytest.fixture
def use(tmp_path):
    (tmp_path / "horse.py").write_text(PYTHON)
    use = Use(tmp_path)
    use("read", filePath="horse.py")
    return use


def edited(use, old, new, **more):
    use("edit", filePath="horse.py", oldString=old, newString=new, **more)
    return (use.directory / "horse.py").read_text()


MISREMEMBERED = {
    "trailing blanks": ('return "trotting"   \n', 'return "walking"\n'),
    "no indentation": ('if speed > 5:\n    return "too fast"', 'if speed > 9:\n    return "too fast"'),
    "spaces inside a line": ("if  speed   >  5:", "if speed > 9:"),
    "curly quotes": ("return “too fast”", 'return "slower"'),
    "blank lines around it": ('\n\n        return "trotting"\n\n', '        return "walking"'),
    "escaped line ends": (
        'if speed > 5:\\n            return \\"too fast\\"',
        'if speed > 9:\\n            return \\"very fast\\"',
    ),
}


@pytest.mark.parametrize("old,new", MISREMEMBERED.values(), ids=MISREMEMBERED)
def test_a_text_that_was_misremembered_is_found_where_only_one_can_be_meant(use, old, new):
    changed = edited(use, old, new)
    assert changed != PYTHON
    compile(changed, "horse.py", "exec")
    assert 'def rest(self):\n        return "resting"' in changed


REFUSED = {
    "too long a span": ('class Horse:\n    x\n        return "resting"', "x", "was not found"),
    "a word wrong in the middle": (
        'def trot(self, speed):\n    if speed > 6:\n        return "too fast"',
        "x",
        "was not found",
    ),
    "nothing but blanks": ("   \n  ", "x", "was not found"),
    "nothing": ("", "x", "must not be empty"),
    "the same": ("class", "class", "must differ"),
}


def test_what_may_stand_in_two_places_is_refused_in_every_reading(use):
    (use.directory / "horse.py").write_text("a = 1 \nb = 2\na = 1  \n")
    use("read", filePath="horse.py")
    with pytest.raises(ToolFailed, match="occurs 2 times"):
        edited(use, "  a = 1", "a = 2")
    assert edited(use, "  a = 1", "  a = 2", replaceAll=True) == "a = 2\nb = 2\na = 2\n"


@pytest.mark.parametrize("old,new,words", REFUSED.values(), ids=REFUSED)
def test_what_fits_too_loosely_is_refused(use, old, new, words):
    with pytest.raises(ToolFailed, match=words):
        edited(use, old, new)
    assert (use.directory / "horse.py").read_text() == PYTHON


CONTENTS = {
    "dos": b"one\r\ntwo\r\nthree\r\n",
    "mark": b"\xef\xbb\xbfone\ntwo\nthree\n",
    "dos and mark": b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n",
    "mixed": b"one\r\ntwo\nthree\r\n",
    "no end": b"one\ntwo\nthree",
    "latin-1": b"one \xe9\ntwo\nthree\n",
    "form feed": b"one\x0c\ntwo\nthree\x0b\n",
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_an_edit_changes_what_it_says_and_not_a_byte_more(use, content):
    path = use.directory / "file.txt"
    path.write_bytes(content)
    path.chmod(0o751)
    use("read", filePath="file.txt")
    use("edit", filePath="file.txt", oldString="two", newString="2")
    assert path.read_bytes() == content.replace(b"two", b"2")
    assert path.stat().st_mode & 0o777 == 0o751


@pytest.mark.parametrize(
    "mode,kept", [(0o755, 0o755), (0o644, 0o644), (0o700, 0o700), (0o664, 0o644), (0o640, 0o600), (0o750, 0o700)]
)
def test_a_file_whose_group_cannot_be_kept_keeps_its_mode_and_opens_to_nobody_else(mode, kept):
    """As root the writer is an ordinary user outside the file's group; such a user's own files need no group kept."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "script.sh")
        path.write_text("one\n")
        path.chmod(mode)
        if root:
            os.chown(folder, NOBODY, NOBODY)
            os.chown(path, NOBODY, SOME_GROUP)
        writer = os.fork()
        if writer == 0:
            if root:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            try:
                files = Files(Path(folder))
                files.write(files.place("edit", "script.sh"), b"two\n")
            finally:
                os._exit(0)
        assert os.waitpid(writer, 0)[1] == 0
        assert (path.read_text(), oct(path.stat().st_mode & 0o777)) == ("two\n", oct(kept if root else mode))


def test_a_file_that_is_written_anew_keeps_its_line_ends_and_its_mark(use):
    path = use.directory / "dos.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\n")
    use("read", filePath="dos.txt")
    use("write", filePath="dos.txt", content="two\nthree\n")
    assert path.read_bytes() == b"\xef\xbb\xbftwo\r\nthree\r\n"


def test_edits_of_one_file_in_one_step_are_all_there(use):
    async def step():
        tool = TOOLS["edit"]
        texts = ["class Horse", "def trot", "too fast", "trotting", "def rest"]
        return await asyncio.gather(
            *(
                tool.run(
                    tool.check({"filePath": "horse.py", "oldString": text, "newString": text + "_x"}),
                    Invocation(
                        call="call",
                        session="session",
                        commands=CommandSetup(directory=use.directory),
                        known_files=use.known,
                    ),
                )
                for text in texts
            )
        )

    asyncio.run(step())
    content = (use.directory / "horse.py").read_text()
    assert content.count("_x") == 5


def test_a_reader_never_sees_half_a_file(use):
    path = use.directory / "big.txt"
    whole = {letter: letter * 3_000_000 for letter in "ab"}
    path.write_text(whole["a"])
    use("read", filePath="big.txt", limit=1)

    def look():
        return {path.read_text() in whole.values() for _ in range(200)}

    with ThreadPoolExecutor() as pool:
        looking = pool.submit(look)
        for turn in range(10):
            use("write", filePath="big.txt", content=whole["ba"[turn % 2]])
        assert looking.result() == {True}
    assert sorted(path.name for path in use.directory.iterdir()) == ["big.txt", "horse.py"]


PATCH = """*** Begin Patch
*** Add File: new/file.txt
+fresh
+lines
*** Update File: horse.py
@@ class Horse:
     def trot(self, speed):
-        if speed > 5:
+        if speed > 7:
@@     def rest(self):
-        return "resting"
+        return "asleep"
*** Update File: old.txt
*** Move to: moved.txt
@@
-a
+b
*** Delete File: gone.txt
*** End Patch"""


def test_a_patch_adds_changes_moves_and_deletes(use):
    for name in ("old.txt", "gone.txt"):
        (use.directory / name).write_text("a\n")
        use("read", filePath=name)
    output = use("apply_patch", patchText=PATCH)
    assert output.text.splitlines() == ["A new/file.txt", "M horse.py", "D old.txt", "A moved.txt", "D gone.txt"]
    assert (use.directory / "new/file.txt").read_text() == "fresh\nlines\n"
    assert (use.directory / "horse.py").read_text() == PYTHON.replace("> 5", "> 7").replace("resting", "asleep")
    assert (use.directory / "moved.txt").read_text() == "b\n"
    assert sorted(path.name for path in use.directory.iterdir()) == ["horse.py", "moved.txt", "new"]


WRONG_PATCHES = {
    "no frame": ("@@\n-a\n+b", "begins with"),
    "lines that are not there": (
        "*** Begin Patch\n*** Add File: fresh\n+x\n*** Update File: horse.py\n@@\n-nowhere\n+x\n*** End Patch",
        "were not found",
    ),
    "a file that is there": ("*** Begin Patch\n*** Add File: horse.py\n+x\n*** End Patch", "exists"),
    "a file that is not there": (
        "*** Begin Patch\n*** Delete File: horses.py\n*** End Patch",
        r"Did you mean horse\.py",
    ),
    "a file twice": (
        "*** Begin Patch\n*** Delete File: horse.py\n*** Delete File: ./horse.py\n*** End Patch",
        "names a file twice",
    ),
    "protected": ("*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch", "protected"),
    "no sign": ("*** Begin Patch\n*** Add File: fresh\nx\n*** End Patch", "begins with '\\+'"),
    "nothing": ("*** Begin Patch\n*** End Patch", "changes nothing"),
}


@pytest.mark.parametrize("text,words", WRONG_PATCHES.values(), ids=WRONG_PATCHES)
def test_a_patch_that_does_not_fit_changes_nothing_at_all(use, text, words):
    with pytest.raises(ToolFailed, match=words):
        use("apply_patch", patchText=text)
    assert [path.name for path in use.directory.iterdir()] == ["horse.py"]
    assert (use.directory / "horse.py").read_text() == PYTHON


def test_a_patch_for_a_file_that_has_changed_since_is_refused(use):
    (use.directory / "horse.py").write_text(PYTHON + "\n")
    with pytest.raises(ToolFailed, match="has changed since"):
        use("apply_patch", patchText="*** Begin Patch\n*** Delete File: horse.py\n*** End Patch")


def test_whoever_is_asked_sees_a_diff(use):
    tool = TOOLS["edit"]
    arguments = tool.check({"filePath": "horse.py", "oldString": "speed > 5", "newString": "speed > 7"})
    assert tool.shows(arguments, Files(use.directory), use.known).splitlines() == [
        "--- a/horse.py",
        "+++ b/horse.py",
        "@@ -1,6 +1,6 @@",
        " class Horse:",
        "     def trot(self, speed):",
        "-        if speed > 5:",
        "+        if speed > 7:",
        '             return "too fast"',
        '         return "trotting"',
        " ",
    ]
    tool = TOOLS["write"]
    fresh = tool.shows(tool.check({"filePath": "new.txt", "content": "x\n"}), Files(use.directory), use.known)
    assert fresh.splitlines() == ["--- /dev/null", "+++ b/new.txt", "@@ -0,0 +1 @@", "+x"]


def test_a_long_line_and_a_large_file_are_read_in_little_memory(use):
    path = use.directory / "large.txt"
    with path.open("wb") as file:
        for number in range(1, 400_001):
            file.write(b"%060d\n" % number)
        file.write(b"x" * 3_000_000 + b"\nend\n")
    output = use("read", filePath="large.txt", offset=399_999, limit=4).text.splitlines()
    assert output[0] == f"399999\t{399_999:060}"
    assert output[2].endswith("x [… line truncated]") and len(output[2]) < 2_100
    assert output[3] == "400002\tend"


def test_an_offset_behind_the_end_says_where_the_end_is(use):
    with pytest.raises(ToolFailed, match="ends at line 8"):
        use("read", filePath="horse.py", offset=9)


def test_a_patch_that_fails_half_way_is_taken_back(use):
    (use.directory / "one.txt").write_text("one\n")
    (use.directory / "two.txt").write_text("two\n")
    for name in ("one.txt", "two.txt"):
        use("read", filePath=name)
    (use.directory / "two.txt").chmod(0o444)
    text = (
        "*** Begin Patch\n*** Update File: one.txt\n@@\n-one\n+1\n*** Update File: two.txt\n@@\n-two\n+2\n"
        "*** Add File: three.txt\n+3\n*** End Patch"
    )
    with pytest.raises(ToolFailed, match=r"two\.txt is read-only"):
        use("apply_patch", patchText=text)
    assert (use.directory / "one.txt").read_text() == "one\n"
    assert not (use.directory / "three.txt").exists()


def test_a_move_into_a_place_that_cannot_be_keeps_the_file_and_one_that_can_keeps_its_mode(use):
    path = use.directory / "script.sh"
    path.write_text("run\n")
    path.chmod(0o755)
    use("read", filePath="script.sh")
    move = "*** Begin Patch\n*** Update File: script.sh\n*** Move to: {target}\n*** End Patch"
    with pytest.raises(ToolFailed):
        use("apply_patch", patchText=move.format(target="horse.py/script.sh"))
    assert path.read_text() == "run\n"
    use("apply_patch", patchText=move.format(target="bin/script.sh"))
    assert (use.directory / "bin" / "script.sh").stat().st_mode & 0o777 == 0o755
    assert not path.exists()


def test_a_patch_keeps_the_files_own_blanks_and_fits_new_lines_to_them(use):
    text = (
        '*** Begin Patch\n*** Update File: horse.py\n@@\n def rest(self):\n-    return "resting"\n'
        '+    if self.tired:\n+        return "asleep"\n+    return "resting"\n*** End Patch'
    )
    use("apply_patch", patchText=text)
    compile((use.directory / "horse.py").read_text(), "horse.py", "exec")
    assert '        if self.tired:\n            return "asleep"\n' in (use.directory / "horse.py").read_text()


@pytest.mark.parametrize("walk", ["kernel", "steps"])
def test_new_folders_and_missing_files_are_the_same_by_either_walk(use, monkeypatch, walk):
    if walk == "steps":
        monkeypatch.setattr(open_beneath, "kernel_resolves", lambda: False)
    use("write", filePath="new/deep/file.txt", content="x")
    assert use("read", filePath="new/deep/file.txt").text == "     1\tx"
    with pytest.raises(ToolFailed, match=r"nowhere/file\.txt does not exist"):
        use("read", filePath="nowhere/file.txt")


def test_a_search_says_what_ripgrep_would_and_leaves_ignored_files_out(use):
    (use.directory / ".git").mkdir()
    (use.directory / ".gitignore").write_text("*.log\n")
    (use.directory / "noise.log").write_text("trot\n")
    (use.directory / "aa.bin").write_bytes(b"trot\n\0\0\n")
    (use.directory / "sub dir").mkdir()
    (use.directory / "sub dir" / "one.py").write_text("trot = 1\n")
    expected = [
        "horse.py:2:    def trot(self, speed):",
        'horse.py:5:        return "trotting"',
        "sub dir/one.py:1:trot = 1",
    ]
    assert use("grep", pattern="trot").text.splitlines()[:3] == expected
    assert use("grep", pattern="trot", include="*").text.splitlines()[:3] == expected
    assert use("grep", pattern="trot", include="*.log").text == "Nothing found."
    assert use("grep", pattern="trot", path="sub dir", include="*.{py,js}").text == expected[-1]
    assert sorted(use("glob", pattern="**/*").text.splitlines()) == [
        ".gitignore",
        "aa.bin",
        "horse.py",
        "sub dir/one.py",
    ]
    assert use("glob", pattern="./horse.py").text == use("glob", pattern=f"{use.directory}/horse.py").text == "horse.py"
    assert use("glob", pattern="sub dir/*.py").text == "sub dir/one.py"


def test_what_lies_outside_is_searched_once_that_is_allowed(use, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "deep").mkdir()
    (other / "deep" / "file.txt").write_text("hay\n")
    assert use("grep", pattern="hay", path=str(other)).text == f"{other}/deep/file.txt:1:hay"


def test_list_gives_the_entries_of_a_folder(use):
    (use.directory / "stable").mkdir()
    assert use("list").text == "horse.py\nstable/"
    with pytest.raises(ToolFailed, match="is not a folder"):
        use("list", path="horse.py")
