"""The home that commands see: empty but for tool chains, caches and settings without credentials."""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from support.hosts import Stable, host, run
from support.sheltered import Sheltered

from bridle.process.sandbox_home import git_identity, plain_settings

SECRETS = [
    *(".ssh/id_rsa", ".gnupg/private-keys-v1.d/x", ".aws/credentials", ".azure/tokens.json", ".kube/config"),
    *(".docker/config.json", ".netrc", ".git-credentials", ".config/gh/hosts.yml"),
    *(".config/gcloud/credentials.db", ".cache/huggingface/token", ".huggingface/token"),
    *(".gemini/oauth_creds.json", ".qwen/oauth_creds.json", ".codeium/config.json", ".aider.conf.yml"),
    *(".config/opencode/opencode.json", ".config/anthropic/key", ".config/glab-cli/config.yml"),
    *(".config/hcloud/cli.toml", ".config/ngrok/ngrok.yml", ".config/netlify/config.json"),
    *(".config/pypoetry/auth.toml", ".config/filezilla/sitemanager.xml", ".config/Signal/config.json"),
    *(".config/Slack/storage/x", ".config/discord/x", ".config/Code/User/settings.json", ".config/Cursor/x"),
    *(".config/io.datasette.llm/keys.json", ".kaggle/kaggle.json", ".vercel/auth.json", ".railway/config.json"),
    *(".circleci/cli.yml", ".cloudflared/cert.pem", ".bitcoin/wallet.dat", ".ethereum/keystore/x"),
    *(".electrum/wallets/x", ".local/share/uv/credentials/x", ".local/share/goose/x"),
    *(".local/share/TelegramDesktop/x", ".1password/x", ".viminfo", ".lesshst", ".sqlite_history"),
    *(".irb_history", ".rediscli_history", ".bash_history", ".zsh_history", ".python_history"),
    *(".mozilla/firefox/x", ".config/google-chrome/x", ".password-store/x", ".pgpass", ".my.cnf"),
    *(".claude/.credentials.json", ".codex/auth.json", ".config/rclone/rclone.conf"),
    *(".terraform.d/credentials.tfrc.json", ".vault-token", ".cargo/credentials.toml", ".gem/credentials"),
    *(
        ".m2/settings.xml",
        ".composer/auth.json",
        "Documents/letter.txt",
        "any-new-tool/token",
    ),
]


@pytest.fixture
def machine(shut_in):
    for name in SECRETS:
        (shut_in.home / name).parent.mkdir(parents=True, exist_ok=True)
        (shut_in.home / name).write_text(f"secret of {name}\n")
    return shut_in


def test_no_secret_of_any_program_is_there_known_or_not(machine):
    found = machine("grep -rs secret ~ || true").text
    assert "secret of" not in found
    assert machine("cat ~/.ssh/id_rsa ~/.cache/huggingface/token").failed


def test_tool_chains_and_caches_are_there_and_cannot_be_changed(machine):
    for name, text in {
        ".cargo/bin/mine": "#!/bin/sh\necho built\n",
        ".cache/pip/x": "cached\n",
        "go/pkg/mod/y": "m\n",
    }.items():
        (machine.home / name).parent.mkdir(parents=True, exist_ok=True)
        (machine.home / name).write_text(text)
    (machine.home / ".cargo" / "bin" / "mine").chmod(0o755)
    assert machine("~/.cargo/bin/mine; cat ~/.cache/pip/x ~/go/pkg/mod/y").text == "built\ncached\nm\n"
    assert machine("echo evil > ~/.cargo/bin/mine").failed
    machine("echo evil > ~/.bashrc; mkdir -p ~/.config/autostart; echo evil > ~/.config/autostart/x.desktop")
    assert not (machine.home / ".bashrc").exists() and not (machine.home / ".config" / "autostart").exists()


def test_caches_of_bridle_s_own_are_kept_from_command_to_command(machine):
    assert machine('echo kept > "$GOCACHE/x"; echo kept > "$GRADLE_USER_HOME/x"').text == "[no output]"
    assert machine('cat "$GOCACHE/x" "$GRADLE_USER_HOME/x"').text == "kept\nkept\n"


def test_commits_carry_the_user_s_name_and_no_signature(machine):
    config = {"user.name": "Ada Example", "user.email": "ada@example.com", "commit.gpgsign": "true"}
    for key, value in {**config, "credential.helper": "store", "http.proxy": "http://u:secret@proxy:1"}.items():
        subprocess.run(["git", "config", "--global", key, value], env=machine.environment, check=True)
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        del machine.environment[name]
    assert (
        machine("git commit -q --allow-empty -m x && git log --format='%an %ae %G?'").text
        == "Ada Example ada@example.com N\n"
    )
    assert "secret" not in machine("cat ~/.gitconfig").text


def test_settings_of_package_managers_come_without_credentials(machine):
    given = {
        ".npmrc": "registry=https://me:secret@npm.example.com/\n//npm.example.com/:_authToken=secret\n_auth=secret\n",
        ".config/pip/pip.conf": "[global]\nindex-url = https://me:secret@pypi.example.com/simple\npassword = secret\n",
        ".cargo/config.toml": '[registries.mine]\nindex = "sparse+https://cargo.example.com/"\ntoken = "secret"\n',
    }
    for name, text in given.items():
        (machine.home / name).parent.mkdir(parents=True, exist_ok=True)
        (machine.home / name).write_text(text)
    text = machine("cat ~/.npmrc ~/.config/pip/pip.conf ~/.cargo/config.toml").text
    assert "secret" not in text
    assert all(
        name in text for name in ("https://npm.example.com/", "https://pypi.example.com/simple", "cargo.example.com")
    )


LEAKS = {
    ".npmrc": [
        *("proxy=u:PW@proxy:3128", "registry=//u:PW@h/", "registry=https://h/;_authToken=PW", "proxy=http://u:P W@h/"),
        *("registry=https://me@corp:PW@h/", "registry=https://u:p@PW@h/", "registry=https://u:PW/x@h/"),
        *("registry=https://h/?token=ghp_PW", "registry=https://h/PW0123456789abcdefghij/", 'proxy="u:PW@h:1"'),
        *("registry=https://h/ ; _authToken=PW", "registry=https://h/ _authToken=PW", "  _auth=PW"),
    ],
    ".config/pip/pip.conf": [
        *("[global]\nproxy = u:PW@proxy:3128", "[global]\nindex-url =\n  https://u:PW@h/simple\n"),
        *("[global]\nindex-url = https://h/simple\npassword =\n  PW", "[global\nindex-url = https://u:PW@h/"),
    ],
    ".config/uv/uv.toml": [
        *(
            'index-url = "https:\\u002f/u:PW@h/"',
            'index-url = "https://u:PW\\u0040h/"',
            "[[index]]\nurl = 'https://PW@h/'",
        ),
        *('extra-index-url = [\n  "https://u:PW@h/",\n]', 'index = [{ url = "https://u:P/W@h/" }]', 'url = "PW'),
    ],
    ".cargo/config.toml": ['[http]\nproxy = "u:PW@proxy:1"', '[source."https://u:PW@h"]\nregistry = "https://h/"'],
    ".config/go/env": ["GOPROXY=https://u:PW@h,direct", "GOFLAGS=-ldflags=-X=main.token=PW"],
    ".condarc": ["channels:\n  - https://h/t/PW/main\n  - https://u:PW@h/", "mine:\n  - PW"],
    ".yarnrc.yml": ["npmScopes:\n  mine:\n    npmAuthToken: PW\n    npmRegistryServer: https://u:PW@h"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in LEAKS.items() for text in texts])
def test_no_way_to_write_a_login_gets_it_into_the_settings(tmp_path, name, text):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text + "\n")
    found = plain_settings(tmp_path).get(name, "")
    assert not any(part in found for part in ("PW", "P W", "P/W", "u:", "W@"))


KEPT = {
    ".npmrc": (
        "registry = https://me@corp:PW@npm.example.com/ # ours\n@mine:registry=https://u:PW@b.example.com:8443/npm/\n"
        "proxy=u:PW@proxy:3128\nnoproxy=localhost,.corp\ncafile=/etc/ssl/corp.pem\n",
        "registry = https://npm.example.com/\n@mine:registry=https://b.example.com:8443/npm/\n"
        "proxy=proxy:3128\nnoproxy=localhost,.corp\ncafile=/etc/ssl/corp.pem\n",
    ),
    ".config/pip/pip.conf": (
        "[global]\nindex-url = https://u:PW@a.example.com/simple\n# more\nextra_index_url =\n    https://b.example.com/s\n"
        "\n    https://u:PW@c.example.com/s\n    https://d.example.com/?token=PW\n[install]\nuser = yes\n",
        "[global]\nindex-url = https://a.example.com/simple\nextra_index_url =\n    https://b.example.com/s\n"
        "    https://c.example.com/s\n",
    ),
    ".config/uv/uv.toml": (
        'native-tls = true\nextra-index-url = [\n  "https://u:PW@a.example.com/s", # one\n  "https://b.example.com/s",\n]\n'
        '[[index]]\nname = "x"\nurl = "https://h/?PW"\n[[index]]\nname = "y"\nurl = "https://PW@h/"\ndefault = true\n',
        'native-tls = true\nextra-index-url = ["https://a.example.com/s", "https://b.example.com/s"]\n'
        'index = [{name = "y", url = "https://h/", default = true}]\n',
    ),
    ".cargo/config.toml": (
        '[target.x86_64-unknown-linux-gnu]\nlinker = "x86_64-linux-gnu-gcc-12"\nrustflags = ["-C", "link-arg=-s"]\n'
        '[target."cfg(unix)"]\nrunner = "evil"\n[registries]\nmine = { index = "sparse+https://h/", token = "PW" }\n'
        '[registry]\ndefault = "mine"\n',
        'target = {x86_64-unknown-linux-gnu = {linker = "x86_64-linux-gnu-gcc-12", rustflags = ["-C", "link-arg=-s"]}}'
        "\n"
        'registries = {mine = {index = "sparse+https://h/"}}\n',
    ),
    ".condarc": (
        "channels:\n  - https://u:PW@h/main\n  - conda-forge\ncreate_default_packages:\n  - pip\nssl_verify: true\n",
        "channels:\n  - https://h/main\n  - conda-forge\nssl_verify: true\n",
    ),
    ".gemrc": (":sources:\n- https://u:PW@h/\n:backtrace: true\n", ":sources:\n- https://h/\n"),
    ".yarnrc": ('registry "https://u:PW@h/"\nemail me\n', 'registry "https://h/"\n'),
    ".config/go/env": ("GOPROXY=https://u:PW@h|direct\nGOBIN=/x\n", "GOPROXY=https://h|direct\n"),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_left_of_settings_is_what_the_user_has_set(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(KEPT[name][0])
    found = plain_settings(tmp_path)
    assert found == {name: KEPT[name][1]}
    if name.endswith(".toml"):
        assert tomllib.loads(found[name])


def test_a_name_and_an_address_of_mail_stay_and_a_proxy_of_git_loses_its_login(tmp_path):
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    for key, value in {
        "user.name": "Ada @ Example; \\ ?",
        "user.email": "ada@example.com",
        "http.proxy": "u:PW@proxy:3128",
        "http.sslcainfo": "https://u:PW/@h?PW",
    }.items():
        subprocess.run(["git", "config", "--global", key, value], env=environment, check=True)
    (tmp_path / "made").write_text(git_identity(shutil.which("git"), environment))
    found = subprocess.run(["git", "config", "-f", tmp_path / "made", "-l"], capture_output=True, text=True).stdout
    assert found.splitlines()[2:] == [
        *("user.name=Ada @ Example; \\ ?", "user.email=ada@example.com", "http.proxy=proxy:3128"),
    ]


@pytest.mark.parametrize("name", [".gitconfig", ".config/git/config", "elsewhere/git/config"])
def test_git_is_not_asked_where_its_settings_are_no_file(tmp_path, name):
    environment = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / name.removesuffix("git/config"))}
    if not name.startswith("elsewhere"):
        del environment["XDG_CONFIG_HOME"]
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(tmp_path / name)
    (tmp_path / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    (tmp_path / "git").chmod(0o755)
    assert "user" not in git_identity(str(tmp_path / "git"), environment)
    assert not (tmp_path / "asked").exists()


def test_a_home_that_is_a_link_is_found_under_both_names(place):
    machine = Sheltered(place)
    real = place / "elsewhere"
    machine.home.rename(real)
    machine.home.symlink_to(real)
    (real / ".local" / "bin").mkdir(parents=True)
    (real / ".local" / "bin" / "mine").write_text("#!/bin/sh\necho found\n")
    (real / ".local" / "bin" / "mine").chmod(0o755)
    text = machine("cd ~ && ~/.local/bin/mine; cat ~/.netrc; ls -A ~ | grep -c ssh").text
    assert "found" in text and "password" not in text and text.strip().endswith("[exit status 1]")


def test_what_the_user_opens_is_readable(place):
    machine = Sheltered(place, home=[str(place / "home" / "notes")])
    (machine.home / "notes").mkdir()
    (machine.home / "notes" / "a.txt").write_text("mine\n")
    assert machine("cat ~/notes/a.txt").text == "mine\n"
    assert machine("echo x > ~/notes/a.txt").failed


def wheel():
    """A package that installs, in a few bytes."""
    files = {
        "tiny.py": b"def hello():\n    return 'installed'\n",
        "tiny-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {
        name: base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
        for name, body in files.items()
    }
    record = "".join(f"{name},sha256={digests[name]},{len(body)}\n" for name, body in files.items())
    files["tiny-1.0.dist-info/RECORD"] = (record + "tiny-1.0.dist-info/RECORD,,\n").encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return packed.getvalue()


@pytest.fixture
def index(port, monkeypatch):
    """A package index on loopback."""
    pages = {
        "/simple/tiny/": (b'<a href="/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>', "text/html"),
        "/tiny-1.0-py3-none-any.whl": (wheel(), "application/octet-stream"),
    }

    def serve(self):
        body, kind = pages.get(self.path, (b"", "text/html"))
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    monkeypatch.setattr(Stable, "do_GET", serve)
    monkeypatch.setattr(Stable, "do_HEAD", serve, raising=False)
    return f"pypi.example.com:{port}"


INSTALLS = {
    "pip": "pip install -q --no-deps --target lib --index-url http://{0}/simple/ --trusted-host pypi.example.com tiny",
    "uv": "uv pip install -q --target lib --python {python} --default-index http://{0}/simple/ tiny",
    "uv sync": "uv sync -q --python {python} --default-index http://{0}/simple/ && mkdir lib && "
    "cp .venv/lib/*/site-packages/tiny.py lib",
}


@pytest.mark.parametrize("way", INSTALLS)
def test_packages_are_installed_from_a_host_that_was_allowed(shut_in, index, way):
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE"):
        shut_in.environment.pop(name, None)
    (shut_in.project / "pyproject.toml").write_text(
        '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["tiny"]\n'
        "[tool.uv]\npackage = false\n"
    )
    command = (
        INSTALLS[way].format(index, python="python3")
        + " && python3 -c 'import sys; sys.path.insert(0, \"lib\"); import tiny; print(tiny.hello())'"
    )
    output = run(shut_in, command, host(index), outside=[index])
    assert output.text.endswith("installed\n"), output.text


def test_a_folder_on_the_path_that_cannot_be_looked_at_is_passed_over(place):
    machine = Sheltered(place)
    # No file system takes such a name: for whoever asks it is like a folder that may not be searched, also for root.
    machine.environment["PATH"] += f":/{'x' * 300}/bin"
    assert machine("echo there").text == "there\n"


def needs(program):
    """Only where such a tool chain is installed; Bridle itself needs none of them."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def tarball():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, body in {
            "package/package.json": b'{"name": "tiny", "version": "1.0.0", "main": "index.js"}',
            "package/index.js": b"module.exports = 'installed'\n",
        }.items():
            found = tarfile.TarInfo(name)
            found.size = len(body)
            archive.addfile(found, io.BytesIO(body))
    return packed.getvalue()


@needs("npm")
def test_npm_ci_installs_from_a_registry_that_was_allowed(shut_in, port, monkeypatch):
    packed = tarball()
    sum = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    registry = f"npm.example.com:{port}"
    address = f"http://{registry}/tiny/-/tiny-1.0.0.tgz"

    def serve(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(packed)))
        self.end_headers()
        self.wfile.write(packed)

    monkeypatch.setattr(Stable, "do_GET", serve)
    project = {"name": "x", "version": "1.0.0", "dependencies": {"tiny": "1.0.0"}}
    (shut_in.project / "package.json").write_text(json.dumps(project))
    packages = {"": project, "node_modules/tiny": {"version": "1.0.0", "resolved": address, "integrity": sum}}
    lock = {"name": "x", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": packages}
    (shut_in.project / "package-lock.json").write_text(json.dumps(lock))
    (shut_in.home / ".npmrc").write_text(f"registry=http://me:secret@{registry}/\naudit=false\nfund=false\n")
    command = "npm ci --silent --no-audit --no-fund && node -p 'require(\"tiny\")'"
    output = run(shut_in, command, host(registry), outside=[registry])
    assert output.text.endswith("installed\n"), output.text


@needs("cargo")
def test_cargo_builds_offline(place):
    # A tool chain that rustup has installed lies in another home here, and is opened.
    chains = Path("~/.rustup").expanduser()
    machine = Sheltered(place, home=[str(chains)] if chains.is_dir() else [])
    machine.environment["RUSTUP_HOME"] = str(chains)
    (machine.project / "src").mkdir()
    (machine.project / "Cargo.toml").write_text('[package]\nname = "x"\nversion = "1.0.0"\nedition = "2021"\n')
    (machine.project / "src" / "main.rs").write_text('fn main() { println!("built"); }\n')
    output = machine("cargo build -q --offline && ./target/debug/x")
    assert output.text.endswith("built\n"), output.text


@needs("go")
def test_go_builds(shut_in):
    (shut_in.project / "go.mod").write_text("module x\n\ngo 1.19\n")
    (shut_in.project / "main.go").write_text('package main\n\nfunc main() { println("built") }\n')
    output = shut_in("go build -o x . && ./x")
    assert output.text.endswith("built\n"), output.text
