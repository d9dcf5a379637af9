"""Which variables commands get to know."""

import pytest

from bridle.core.secrets import is_secret, redacted, without_secrets


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
    ],
)
def test_secrets_are_known_by_their_names(name):
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "KEYBOARD_LAYOUT", "LANG", "VIRTUAL_ENV", "GPG_TTY"),
        *("XAUTHORITY", "EDITOR", "PYTHONPATH", "NODE_OPTIONS", "CI", "MONKEY", "GIT_AUTHOR_NAME", "DISPLAY"),
    ],
)
def test_what_commands_need_they_get(name):
    assert not is_secret(name)


def test_the_user_has_the_last_word():
    environment = {"PATH": "/bin", "NPM_TOKEN": "a", "GITHUB_TOKEN": "b", "OURS": "c"}
    assert without_secrets(environment, known={"OURS"}, passes=["NPM_TOKEN"]) == {"PATH": "/bin", "NPM_TOKEN": "a"}


@pytest.mark.parametrize(
    "text",
    ['"content": "API_KEY=planted"', "export X=1 API_KEY=planted", "env: API_KEY=planted", '{"api_key": "planted"}'],
)
def test_an_assignment_within_an_assignment_is_found_too(text):
    assert redacted(text) == text.replace("planted", "[redacted]")
