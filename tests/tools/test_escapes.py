"""Ways out of the project, each tried with every file tool: nothing from outside is seen, nothing there is changed."""

import ctypes
import itertools
import os
import socket
import threading
import time
from pathlib import Path

import pytest
from support.session_tools import TOOLS, Use

from bridle.core.permission import DEFAULT_RULES, judge
from bridle.errors import ToolFailed
from bridle.workspace import open_beneath
from bridle.workspace.git_place import git_folders

SECRET = "the-secret-from-outside"
PLANTED = "planted-by-the-model"
RACE_SECONDS = 10.0
LONGEST_CALL_SECONDS = 3.0
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def build(home: Path) -> Path:
    """A project with every trap that a hostile repository, or a model with a shell, may lay."""
    outside, project, state = home / "outside", home / "project", home / "state"
    for folder in (outside / "deep", project / "sub" / "deep", state):
        folder.mkdir(parents=True)
    (outside / "secret.txt").write_text(f"{SECRET}\n")
    (outside / "deep" / "secret.txt").write_text(f"{SECRET}\n")
    (state / "trust.json").write_text(f"{SECRET}\n")
    (project / "plain.txt").write_text("plain\n")
    (project / "sub" / "plain.txt").write_text("plain\n")
    for name in ("hooks", "info", "objects", "modules/lib/hooks", "worktrees/w"):
        (project / ".git" / name).mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (project / ".git" / "config").write_text("[core]\n")
    (project / "nested" / ".git" / "hooks").mkdir(parents=True)
    (project / "worktree").mkdir()
    (project / "worktree" / ".git").write_text(f"gitdir: {outside}/deep\n")
    _links(project, outside)
    _special(project)
    return project


def _links(project: Path, outside: Path) -> None:
    links = {
        "to-file": outside / "secret.txt",
        "to-folder": outside,
        "relative-file": "../outside/secret.txt",
        "relative-folder": "../outside",
        "chain-1": "chain-2",
        "chain-2": "chain-3",
        "chain-3": "../outside/secret.txt",
        "loop-a": "loop-b",
        "loop-b": "loop-a",
        "self": "self",
        "dangling": outside / "made-through-a-link.txt",
        "dangling-relative": "../outside/made-through-a-link.txt",
        "dangling-folder": outside / "made" / "folder",
        "to-root": "/",
        "to-parent": "..",
        "to-proc": "/proc",
        "to-self-root": "/proc/self/root",
        "to-cwd": "/proc/self/cwd",
        "to-environ": "/proc/self/environ",
        "to-git": ".git",
        "to-hooks": ".git/hooks",
        "to-config": ".git/config",
        "git-by-another-name": "nested/.git",
        "to-zero": "/dev/zero",
        "to-fd": "/dev/fd",
        "to-home": "~",
        "sub/up": "../..",
        "sub/up-and-in": "../../outside/deep",
        "sub/deep/out": outside / "deep",
        "sub/odd\nname": outside / "secret.txt",
        "with space": outside / "secret.txt",
        "-rf": outside / "secret.txt",
        "--files": outside,
        "*": outside,
    }
    for name, target in links.items():
        (project / name).symlink_to(target)
    os.link(outside / "secret.txt", project / "hard.txt")
    os.link(outside / "secret.txt", project / "sub" / "hard.txt")


def _special(project: Path) -> None:
    os.mkfifo(project / "pipe")
    os.mkfifo(project / "sub" / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(project / "socket"))
    if os.geteuid() == 0:
        os.mknod(project / "zero", 0o20666, os.makedev(1, 5))
        os.mknod(project / "disk", 0o60666, os.makedev(7, 99))


ATTEMPTS = r"""
../outside/secret.txt  sub/../../outside/secret.txt  ./../outside/secret.txt  sub/./../../outside/secret.txt
../project/../outside/secret.txt  sub/deep/../../../outside/secret.txt  ..//outside///secret.txt
sub/..//../outside/./secret.txt  nowhere/../../outside/secret.txt  plain.txt/../../outside/secret.txt
....//outside/secret.txt  ..\\outside\\secret.txt  %2e%2e/outside/secret.txt  ..%2foutside/secret.txt
..%00/outside/secret.txt  ..\x20/outside/secret.txt  ../outside/secret.txt\x20  ../outside/secret.txt.
\uff0e\uff0e\uff0foutside\uff0fsecret.txt  \u2024\u2024/outside/secret.txt  ..\u200b/outside/secret.txt
\u202e../outside/secret.txt  ../OUTSIDE/secret.txt  ../outside  ..  ../..  ../outside/deep/  ../outside/*
../out*/secret.txt  sub/deep/../../..  ../../../../../../../../../../../../../../../../../../..{outside}/secret.txt

{outside}/secret.txt  /{outside}/secret.txt  //{outside}/secret.txt  {project}/../outside/secret.txt
/.{outside}/secret.txt  /proc/..{outside}/secret.txt  {outside}/  {outside}  /  /etc/passwd  /etc/shadow
{outside}/./deep/../secret.txt

~/outside/secret.txt  ~root/.bashrc  $HOME/secret.txt  ${{HOME}}/x  file://{outside}/secret.txt
file:{outside}/secret.txt
~  ~+/../outside/secret.txt  `pwd`/../outside/secret.txt  $(pwd)/../outside  C:\\outside\\secret.txt  ~nobody/x
\\\\host\\outside

to-file  to-folder/secret.txt  to-folder  to-folder/deep/secret.txt  relative-file  relative-folder/secret.txt
relative-folder/deep/../secret.txt  chain-1  chain-2  loop-a  self  loop-a/x  dangling  dangling-relative
dangling-folder/x.txt  to-root{outside}/secret.txt  to-parent/outside/secret.txt  to-folder/new.txt
to-folder/new/deep.txt  sub/up/outside/secret.txt  sub/up-and-in/secret.txt  sub/deep/out/secret.txt
sub/deep/out/new.txt  sub/odd\nname  with\x20space  -rf  --files  --files/secret.txt  *  */secret.txt
sub/../to-folder/secret.txt  to-home  ./to-file  to-file/  to-folder/.  to-folder/../outside/secret.txt  hard.txt
sub/hard.txt  sub/../hard.txt

/proc/self/environ  /proc/self/root/etc/passwd  /proc/self/root{outside}/secret.txt  /proc/self/fd/0
/proc/self/cwd/../outside/secret.txt  /proc/thread-self/environ  /proc/1/environ  /proc/self/mem  /proc/self/maps
/proc/kcore  /proc/version  /sys/kernel/notes  /dev/fd/0  /dev/stdin  /dev/zero  /dev/tty  /dev/mem  /dev/full
/dev/random  to-proc/self/environ  to-self-root{outside}/secret.txt  to-cwd/../outside/secret.txt  to-environ  to-zero
to-fd/0  /proc/{pid}/environ  /proc/{pid}/cwd  /proc/sys/kernel/core_pattern  /proc/mounts

pipe  sub/pipe  socket  zero  disk  sub  ./pipe  sub/../pipe  pipe/x  socket/x

.git/hooks/pre-commit  .git/config  .git/HEAD  .git/info/attributes  .git  .git/new  .GIT/config  .Git/hooks/x
.git./config  .git\x20/config  .git\u200b/config  .g\u200dit/config  .\uff47\uff49\uff54/config
nested/.git/hooks/post-checkout  nested/.git/config  fresh/.git/hooks/x  fresh/.git  worktree/.git
.git/modules/lib/hooks/x  .git/worktrees/w/config  to-git/config  to-hooks/pre-push  to-config  sub/../.git/config
git-by-another-name/config  sub/.git/config  ./.git//hooks/x  .g\u0131t/../.git/config

bridle.toml  sub/bridle.toml  .bridle/config.toml  .bridle/agents/x.md  .bridle/tools/x.py  .bridle/hooks/x
Bridle.TOML  BRIDLE.toml  .Bridle/x  bridle.toml.  bridle.toml\x20  .bridle  sub/.bridle/skills/x/SKILL.md
../state/trust.json  {home}/state/trust.json  {home}/state/new.json  to-parent/state/trust.json  bridle.tom\u200bl

\0  plain.txt\0../outside/secret.txt  a\nb/../../outside/secret.txt  \udcff\udcfe  \x20  .  ./  \r  \x1b[2J
\xe9/../../outside/secret.txt  e\u0301/../../outside/secret.txt
"""
"""Each row of a block is there for another trick; escapes stand for characters that an editor would not show."""


def attempts(home: Path) -> list[str]:
    names = {"outside": home / "outside", "project": home / "project", "home": home, "pid": os.getpid()}
    written = [word.format(**names) for word in ATTEMPTS.split()]
    long = ["", "x" * 256, "x/" * 3000 + "y", "sub/" * 200, "a" * 5000]
    return [word.encode("ascii").decode("unicode_escape") for word in written] + long


def patched(path: str) -> str:
    return f"*** Begin Patch\n*** Add File: {path}\n+{PLANTED}\n*** End Patch"


def removed(path: str) -> str:
    return f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"


def moved(path: str) -> str:
    return f"*** Begin Patch\n*** Update File: plain.txt\n*** Move to: {path}\n*** End Patch"


WAYS = {
    "read": lambda path: ("read", {"filePath": path}),
    "write": lambda path: ("write", {"filePath": path, "content": PLANTED}),
    "edit": lambda path: ("edit", {"filePath": path, "oldString": SECRET, "newString": PLANTED}),
    "patch": lambda path: ("apply_patch", {"patchText": patched(path)}),
    "delete": lambda path: ("apply_patch", {"patchText": removed(path)}),
    "move": lambda path: ("apply_patch", {"patchText": moved(path)}),
    "glob": lambda path: ("glob", {"pattern": "**", "path": path}),
    "glob pattern": lambda path: ("glob", {"pattern": path}),
    "grep": lambda path: ("grep", {"pattern": "secret|PATH=|root:", "path": path}),
    "grep include": lambda path: ("grep", {"pattern": SECRET, "include": path}),
    "list": lambda path: ("list", {"path": path}),
}


def picture(home: Path) -> dict[str, object]:
    """Everything that must stay as it is: outside, and what is protected inside."""
    kept = {}
    guarded = (home / "outside", home / "state", home / "project" / ".git", home / "project" / "nested" / ".git")
    for folder, names, files in itertools.chain.from_iterable(map(os.walk, guarded)):
        kept.update({f"{folder}/{name}": "folder" for name in names})
        kept.update({f"{folder}/{name}": Path(folder, name).read_bytes() for name in files})
    for name in ("bridle.toml", ".bridle", "sub/bridle.toml", "sub/.bridle", "fresh/.git", "sub/.git"):
        kept[name] = (home / "project" / name).exists()
    kept["worktree/.git"] = (home / "project" / "worktree" / ".git").read_bytes()
    return kept


def unasked(use: Use, name: str, arguments: dict[str, str]) -> str:
    """What comes of a call where nobody can be asked, as a turn does it: first judged, then run."""
    try:
        needed = use.needs(name, arguments)
    except Exception as error:
        return f"refused: {error}"
    if any(judge(DEFAULT_RULES, access) != "allow" for access in needed):
        return "refused by the rules"
    try:
        return use.unasked(name, **arguments).text
    except ToolFailed as error:
        return f"failed: {error}"


LEAKS = (SECRET, "root:x:0:0", "PATH=/", "daemon:")


@pytest.mark.parametrize("walk", ["kernel", "steps"])
@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_out(tmp_path, monkeypatch, way, walk):
    if walk == "steps":
        monkeypatch.setattr(open_beneath, "kernel_resolves", lambda: False)
    monkeypatch.chdir(tmp_path)
    project = build(tmp_path)
    use = Use(project, guarded=(tmp_path / "state", *git_folders(project)))
    tried = attempts(tmp_path)
    assert len(set(tried)) == len(tried) >= 150
    before = picture(tmp_path)
    escapes = []
    for path in tried:
        name, arguments = WAYS[way](path)
        began = time.monotonic()
        said = unasked(use, name, arguments)
        if any(leak in said for leak in LEAKS) or time.monotonic() - began > LONGEST_CALL_SECONDS:
            escapes.append((path, said))
        if picture(tmp_path) != before:
            escapes.append((path, "changed something"))
            break
    assert escapes == []


def test_a_yes_holds_for_what_was_shown_and_for_nothing_else(tmp_path):
    """A person allows one outside file; by the time the call runs, the name leads to another."""
    project = build(tmp_path)
    harmless = tmp_path / "harmless" / "file.txt"
    harmless.parent.mkdir()
    harmless.write_text("harmless\n")
    link = project / "asked"
    link.symlink_to(harmless)
    use = Use(project)
    granted = frozenset(use.needs("read", {"filePath": "asked"}))
    link.unlink()
    link.symlink_to(tmp_path / "outside" / "secret.txt")
    with pytest.raises(ToolFailed, match="was not allowed"):
        use.granted("read", {"filePath": "asked"}, granted)


def _swap(stop: threading.Event, place: Path, link: Path) -> None:
    """A folder and a link to outside take turns under one name, as fast as the kernel can exchange them."""
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    names = os.fsencode(place), os.fsencode(link)
    while not stop.is_set():
        assert exchange(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0


def test_a_race_between_a_folder_and_a_link_is_never_won(tmp_path):
    project = build(tmp_path)
    place, link = project / "race", tmp_path / "link"
    place.mkdir()
    (place / "secret.txt").write_text("inside\n")
    link.symlink_to(tmp_path / "outside")
    before = picture(tmp_path)
    stop = threading.Event()
    swapping = threading.Thread(target=_swap, args=(stop, place, link))
    swapping.start()
    use = Use(project)
    said, calls = [], 0
    end = time.monotonic() + RACE_SECONDS
    try:
        while time.monotonic() < end:
            for way in ("read", "write", "edit", "patch", "list", "move", "delete"):
                for path in ("race/secret.txt", f"race/new{calls % 7}.txt", "race"):
                    said.append(unasked(use, *WAYS[way](path)))
                    calls += 1
            if calls % 210 == 0:
                said.append(unasked(use, "grep", {"pattern": "secret|inside"}))
                said.append(unasked(use, "glob", {"pattern": "**/secret.txt", "path": "race"}))
    finally:
        stop.set()
        swapping.join()
    assert [text for text in said if SECRET in text] == []
    assert picture(tmp_path) == before
    # The race was one: the calls got through to the folder, and ran into the link.
    assert any("inside" in text for text in said)
    assert any("refused" in text for text in said)
    assert calls > 200


def test_every_tool_that_touches_files_was_tried():
    touching = {name for name, tool in TOOLS.items() if tool.permission in ("read", "edit", "glob", "grep", "list")}
    assert touching == {WAYS[way]("x")[0] for way in WAYS}
