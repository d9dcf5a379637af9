"""What `bridle doctor` says is installed, and from where: of packages as installers leave them behind."""

import json
import subprocess
import sys

import pytest
from support.paths import ROOT

METADATA = """Metadata-Version: 2.4
Name: bridle
Version: 4.5.6
Provides-Extra: web
Provides-Extra: rare
Requires-Dist: msgspec>=0.22
Requires-Dist: rich[jupyter]>=14 ; extra == 'web'
Requires-Dist: typer>=0.29 ; python_full_version >= '3.11' and extra == 'web'
Requires-Dist: rich>=14 ; extra == 'rare'
Requires-Dist: package-that-is-missing>=1 ; extra == 'rare'
"""
FIELDS = "('version', 'origin', 'by', 'extras', 'missing', 'shadows')"
ASK = f"""
from bridle.runtime.installation import installation
found = installation()
print([str(getattr(found, name)) for name in {FIELDS}])
"""

ORIGINS = {
    "from an index": (None, "a package index"),
    "a wheel": ({"url": "file:///tmp/a%20b/bridle-4.5.6-py3-none-any.whl", "archive_info": {}}, "wheel {name}"),
    "an sdist": ({"url": "file:///tmp/bridle-4.5.6.tar.gz", "archive_info": {}}, "sdist /tmp/bridle-4.5.6.tar.gz"),
    "a folder": ({"url": "file:///tmp/source", "dir_info": {}}, "folder /tmp/source"),
    "a repository": (
        {"url": "https://u:secret@example.com/b", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
        "git abc",
    ),
    "a wheel on a server that wants a password": (
        {"url": "https://u:secret@example.com/bridle.whl?t=secret", "archive_info": {}},
        "wheel example.com/bridle.whl",
    ),
}


@pytest.mark.parametrize(("direct", "origin"), ORIGINS.values(), ids=ORIGINS)
def test_the_origin_and_the_extras_are_told_as_the_installer_recorded_them(direct, origin, tmp_path):
    info = tmp_path / "bridle-4.5.6.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "INSTALLER").write_text("pip\n")
    if direct is not None:
        (info / "direct_url.json").write_text(json.dumps(direct))
    # Found before the installed one, while the package itself is the one of this source tree.
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT / 'src')!r}]\n{ASK}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    told = origin.format(name="/tmp/a b/bridle-4.5.6-py3-none-any.whl")
    hidden = str(tmp_path / "bridle")
    assert done.stdout.strip() == repr(["4.5.6", told, "pip", "('web',)", "('rare',)", hidden])


def test_the_bridle_of_a_source_tree_is_editable():
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True)
    assert f"'editable, from {ROOT}'" in done.stdout and done.stdout.endswith("'None']\n")
