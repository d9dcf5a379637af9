"""What the environment names shows commands no secrets: files with passwords, and folders around the home.

Nor does a link of the home that leads elsewhere.
"""

import pytest
from support.sheltered import Sheltered


def test_files_that_secret_variables_name_are_hidden_wherever_they_lie(place, tmp_path):
    """Bridle's own passwords too: libpq reads the one for its journal from such a file."""
    machine = Sheltered(place)
    named = {
        "PGPASSFILE": place / "pgpass",
        "GOOGLE_APPLICATION_CREDENTIALS": machine.project / "key.json",
        "OTEL_EXPORTER_OTLP_CLIENT_KEY": tmp_path / "client.pem",
        "PGSSLKEY": machine.home / "client.pem",
    }
    for name, path in named.items():
        path.write_text("the password\n")
        machine.environment[name] = str(path)
    for path in named.values():
        assert "password" not in machine(f"cat {path}").text
    assert machine("echo fine").text == "fine\n"


@pytest.mark.parametrize("entry", ["{home}", "{home}/.", "{above}", "{above}/link", "{home}/bin", "/", "/home", "/tmp"])
def test_a_folder_on_the_path_that_contains_the_home_shows_nothing_of_it(tmp_path, entry):
    """Also a virtual environment whose root is the home."""
    # Here, as in most places of a home, the folders of PATH are mounted again.
    machine = Sheltered(tmp_path)
    (tmp_path / "link").symlink_to(machine.home)
    for name in (".cargo/registry", ".cargo/git", ".m2/repository", "bin"):
        (machine.home / name).mkdir(parents=True)
    (machine.home / "pyvenv.cfg").write_text("home = /usr\n")
    machine.environment["PATH"] += f":{entry.format(home=machine.home, above=tmp_path)}"
    found = machine("cat ~/.ssh/id_rsa ~/.netrc; ls ~/.ssh; echo fine").text
    assert "the private key" not in found and "the password" not in found and "id_rsa\n" not in found
    assert "fine" in found


@pytest.mark.parametrize("name", [".ssh2", ".config/tool", ".local/share/keyrings", ".local/state/tool", ".cache/tool"])
def test_what_hidden_links_of_the_home_lead_to_is_hidden_where_it_lies(place, name):
    machine = Sheltered(place)
    (place / "disk" / "away").mkdir(parents=True)
    (place / "disk" / "away" / "token").write_text("the token\n")
    (machine.home / name).parent.mkdir(parents=True, exist_ok=True)
    (machine.home / name).symlink_to(place / "disk" / "away")
    found = machine(f"cat ~/{name}/token {place}/disk/away/token; ls {place}/disk").text
    assert "the token" not in found and "away" in found


def test_commands_of_root_read_nothing_in_etc_that_is_for_root_alone(place):
    """As an ordinary user they could not anyway."""
    machine = Sheltered(place)
    (machine.project / "look.sh").write_text(
        "find /etc -type f ! -perm -o+r -exec cat {} + 2>/dev/null; cat /etc/shadow-\n"
    )
    found = machine("/bin/sh look.sh").text
    assert "root:" not in found and "cat: /etc/shadow-:" in found
    assert machine("cat /etc/passwd").text.startswith("root:")
