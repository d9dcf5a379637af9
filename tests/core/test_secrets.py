"""Which variables commands get to know."""

import pytest

from bridle.values.secrets import is_secret, redacted, without_secrets


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "APIKEY", "STRIPE_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
        *(
            "AWS_SESSION_TOKEN",
            "GITHUB_TOKEN",
            "npm_token",
            "CLIENT_SECRET",
            "DB_PASSWORD",
            "PGPASSWD",
            "SSH_PASSPHRASE",
        ),
        *("GOOGLE_APPLICATION_CREDENTIALS", "AZURE_DEVOPS_PAT", "MYSQL_PWD", "PRIVATE_KEY_PEM", "SECRET_KEY_BASE"),
        *("PGPASSWORD", "PGPASSFILE", "PGSSLKEY", "PGSERVICEFILE", "BRIDLE_TOKEN", "OTEL_EXPORTER_OTLP_LOGS_HEADERS"),
    ],
)
def test_secrets_are_known_by_their_names(name):
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "KEYBOARD_LAYOUT", "LANG", "VIRTUAL_ENV", "GPG_TTY"),
        *("PGHOST", "PGUSER", "PGDATABASE", "OTEL_SERVICE_NAME"),
        *("XAUTHORITY", "EDITOR", "PYTHONPATH", "NODE_OPTIONS", "CI", "MONKEY", "GIT_AUTHOR_NAME", "DISPLAY"),
    ],
)
def test_what_commands_need_they_get(name):
    assert not is_secret(name)


def test_the_user_has_the_last_word():
    environment = {"PATH": "/bin", "NPM_TOKEN": "a", "GITHUB_TOKEN": "b", "OURS": "c"}
    assert without_secrets(environment, known={"OURS"}, passes=["NPM_TOKEN"]) == {"PATH": "/bin", "NPM_TOKEN": "a"}


SECRET_VALUES = {
    "REDIS_URL": "redis://:PW@cache:6379/0",
    "MONGO": "mongodb://u:P/W@h/db",
    "DATABASE": "postgres://u:P W@h/db",
    "MYSQL": "u:PW@tcp(db:3306)/shop",
    "REMOTE": "https://PW@git.example.com/x.git",
    "STORAGE": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=PW==;EndpointSuffix=core",
    "SQL": "Server=db;User Id=sa;Password=PW;",
    "ODBC": "Driver=x;Uid=sa;Pwd=/PW",
    "HTTP_HEADER": "Authorization: Basic PW",
    "CURL_ARGS": "-H 'authorization: token PW'",
    "HEADER": "Bearer PWPWPWPW",
    "BASIC": "Basic dXNlcjpQVw==",
    "MORE": "X-Api-Key: PW",
    "MAVEN_OPTS": "-Xmx1g -Dserver.password=PW",
    "JSON": '{"client_secret": "PW"}',
    "OPTIONS": "--access-token=PW",
    "OTEL_EXPORTER_OTLP_HEADERS": "x-honeycomb-team=PW",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "PW",
    "COLLECTOR": f"bridle_{'4f' * 24}",
}


@pytest.mark.parametrize("name", SECRET_VALUES)
def test_secrets_are_known_by_their_values(name):
    assert without_secrets({name: SECRET_VALUES[name]}) == {}
    assert without_secrets({name: SECRET_VALUES[name]}, passes=[name]) == {name: SECRET_VALUES[name]}


ORDINARY = {
    "PATH": "secret:/opt/token:/home/me/password:/usr/bin",
    "PYTHONPATH": "/srv/api-key:/srv/lib",
    "DATA": "/srv/secret:/srv/token",
    "LANG": "de_DE.UTF-8@euro",
    "LANGUAGE": "sr:sr@latin:en",
    "LS_COLORS": "rs=0:di=01;34:*.tar=01;31:*.7z=01;31",
    "PS1": r"\[\e]0;\u@\h: \w\a\]${debian_chroot:+($debian_chroot)}\u@\h:${PWD:0:9}\$ ",
    "PROMPT_COMMAND": 'printf "%s@%s:%s" "${USER}" "${HOSTNAME%%.*}" "${PWD:0:20}"',
    "TITLE_FORMAT": "${PWD:0:9}",
    "JAVA_HOME": "/usr/lib/jvm/java-21",
    "JAVA_TOOL_OPTIONS": "-Xmx1g -Dfile.encoding=UTF-8",
    "PWD": "/home/me",
    "OLDPWD": "/home/me/a@b",
    "NODE_OPTIONS": "--max-old-space-size=4096 --require /x/y.js",
    "PYTEST_ADDOPTS": "-q -p no:cacheprovider --color=yes",
    "XMODIFIERS": "@im=ibus",
    "SESSION_MANAGER": "local/host:@/tmp/.ICE-unix/1,unix/host:/tmp/.ICE-unix/1",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus",
    "DOCKER_HOST": "ssh://me@build.example.com",
    "ORIGIN": "git@github.com:me/it.git",
    "KUBERNETES_PORT": "tcp://10.0.0.1:443",
    "HOMEPAGE": "https://example.com:8443/a?b=c#d",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "BASH_FUNC_go%%": "() {  cd /x && OLDPWD=/y ls\n}",
    "RUSTFLAGS": "--cfg tokio_unstable -C target-cpu=native",
    "OPTIONS": "--max-tokens=5 --tokenizer: fast",
    "no_proxy": "localhost,127.0.0.1;.corp.example.com",
    "EMPTY": "",
}


def test_ordinary_variables_stay_as_they_are():
    assert without_secrets(ORDINARY) == ORDINARY


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("http_proxy", "u:PW@proxy:3128", "proxy:3128"),
        ("HTTPS_PROXY", "http://me@corp:PW@proxy:3128/", "http://proxy:3128/"),
        ("all_proxy", "socks5h://u:p@PW@127.0.0.1:1080", "socks5h://127.0.0.1:1080"),
        ("http_proxy", "http://u:p@[::1]:3128", "http://[::1]:3128"),
        ("GOPROXY", "https://u:PW@go.example.com,direct", "https://go.example.com,direct"),
        ("UV_DEFAULT_INDEX", "https://PW@pypi.example.com/simple", "https://pypi.example.com/simple"),
        ("UV_INDEX", "a=https://PW@a.example.com/s b=https://u:PW@b.example.com/s", None),
        ("PIP_EXTRA_INDEX_URL", "https://a.example.com/s\nhttps://u:PW@b.example.com/s", None),
        ("npm_config_registry", "https://u:PW@npm.example.com/", "https://npm.example.com/"),
        ("PIP_FIND_LINKS", "/srv/wheels", "/srv/wheels"),
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "https://u:PW@collector.example.com:4318",
            "https://collector.example.com:4318",
        ),
    ],
)
def test_proxies_and_indexes_stay_without_their_logins(name, value, kept):
    kept = kept or value.replace("u:PW@", "").replace("PW@", "")
    assert without_secrets({name: value}) == {name: kept}
    assert without_secrets({name: value}, passes=[name]) == {name: value}


@pytest.mark.parametrize(
    "value",
    [
        *("https://u:P W@h/", "https://u:P/W@h/", "https://u:P#W@h/", "https://u:P,W@h/", "u:P W@h:1", "https:/u:PW@h"),
        *("https://u:PW", "https://h/;_authToken=PW", "https://h/?token=PW", "https://h/ _authToken=PW", "u:P\\W@h:1"),
        *("https://h/t/PW/main", "https://h/4f9d0c1e7ab24c6d8e01/simple", "https://h/aB3dE5fG7hJ9/simple"),
        *(
            "https:\\u002f/u:PW@h",
            "https://h/x/https://u:PW@h/",
            "https://h/%3Ftoken=PW",
            "https://h/a@PW",
            "https://h?x=a@PW",
        ),
    ],
)
def test_an_index_goes_as_a_whole_where_a_login_cannot_be_told_from_the_rest(value):
    assert without_secrets({"PIP_INDEX_URL": value}) == {}


def test_settings_of_git_in_the_environment_go_together():
    pairs = {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "GIT_CONFIG_KEY_1": "http.extraheader"}
    plain = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    given = {"GIT_CONFIG_COUNT": "2", **pairs, "GIT_CONFIG_VALUE_1": "Authorization: Basic PW"}
    assert (without_secrets(given), without_secrets(plain)) == ({}, plain)


@pytest.mark.parametrize(
    "text",
    [
        *(
            '"content": "API_KEY=planted"',
            "export X=1 API_KEY=planted",
            "env: API_KEY=planted",
            '{"api_key": "planted"}',
        ),
        *("run --api-key=planted", '["x", "--api-key=planted"]', "curl -H 'Authorization: Bearer planted' h"),
        *('{"Authorization": "Basic planted"}', "authorization=planted"),
    ],
)
def test_a_secret_is_hidden_wherever_a_text_assigns_or_sends_it(text):
    assert redacted(text) == text.replace("planted", "[redacted]")


def test_a_bearer_is_a_token_if_it_looks_like_one():
    assert redacted("send bearer 4f9d0c1e") == "send bearer [redacted]"
    assert redacted("the bearer will come") == "the bearer will come"
