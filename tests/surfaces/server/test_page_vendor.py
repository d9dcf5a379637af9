"""The page's libraries are those that `scripts/vendor` fetches: versions, hashes and licences agree."""

import json

from support import page_vendor
from support.page_vendor import LIBRARIES, LISTING, VENDOR


def test_every_vendored_file_is_listed_with_its_hash():
    listed = json.loads(LISTING.read_text())
    hashes = {name: value for library in listed for name, value in library["files"].items()}
    found = {path.relative_to(VENDOR).as_posix(): path for path in VENDOR.rglob("*.js")}
    assert {name: page_vendor.digest(path.read_text(encoding="utf-8")) for name, path in found.items()} == hashes
    assert [(each["package"], each["version"], each["integrity"]) for each in listed] == [
        (library.package, library.version, library.integrity) for library in LIBRARIES
    ]


def test_every_library_brings_its_licence():
    for library in json.loads(LISTING.read_text()):
        text = (VENDOR / library["licence_file"]).read_text(encoding="utf-8")
        assert "Copyright" in text or "Apache License" in text
    licences = {path.relative_to(VENDOR).as_posix() for path in (VENDOR / "licences").iterdir()}
    assert licences == {library["licence_file"] for library in json.loads(LISTING.read_text())}


def test_modules_import_each_other_by_relative_paths():
    """Browsers resolve bare names only through inline import maps, which the policy forbids."""
    for path in VENDOR.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not any(f'from"{bare.strip(chr(34))}"' in text for bare in page_vendor.RELATIVE)
        assert "sourceMappingURL" not in text
