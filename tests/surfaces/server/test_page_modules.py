"""The page's modules: type-checked, small, with a first line that says what they are, and no way to make HTML."""

import re

import pytest
from support.page_types import STATIC, problems

MODULES = [path for path in sorted(STATIC.rglob("*.js")) if "vendor" not in path.parts]
MOST_LINES = 300
MAKES_HTML = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function")


def test_modules_have_no_type_errors(tmp_path):
    assert problems() == ""
    (tmp_path / "wrong.js").write_text('/** @type {number} */\nexport const one = "one";\n')
    assert "wrong.js(2,14)" in problems(tmp_path)


IMPORTED = re.compile(r"""(?:^|[;\s}])(?:import|export)\s*(?:[\w*{][^;"']*?from\s*)?"(\.[^"]+)\"""", re.M)


def reached(path, found):
    """Add the modules that a module imports, and those that they import."""
    for name in IMPORTED.findall(path.read_text(encoding="utf-8")):
        below = (path.parent / name).resolve()
        if below not in found:
            found.add(below)
            reached(below, found)
    return found


def test_modules_are_asked_for_at_once_and_not_one_after_another():
    entry = (STATIC / "index.html").read_text()
    listed = re.findall(r'<link rel="modulepreload" href="page/([^"]+)">', entry)
    modules = {path.relative_to(STATIC.resolve()).as_posix() for path in reached(STATIC.resolve() / "main.js", set())}
    assert len(modules) > 30
    assert listed == sorted(modules)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_modules_are_small_and_say_what_they_are(path):
    text = path.read_text(encoding="utf-8")
    assert re.match(r"// \S.*[.…]\n", text)
    assert text.count("\n") <= MOST_LINES
    assert MAKES_HTML.search(text) is None
