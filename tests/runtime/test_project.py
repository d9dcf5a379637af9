"""What clients ask a project: typed answers without secrets, and files within the boundary of the file tools."""

import asyncio
import os
import subprocess
from base64 import b64decode

import pytest
from support.cli_home import calls, settings

from bridle import AccessRefused, ConfigError
from bridle.core.parts import File
from bridle.runtime import Runtime
from bridle.runtime.own_prompts import OWN_PROMPTS
from bridle.runtime.project_views import ConfigValue, FileContent, FoundFile, SlashCommand, TrustView

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(16)


def asked(home, work, **more):
    """Open the project of a person as the command does, and ask it."""

    async def play():
        async with Runtime.open(home.project, environment=home.environment, **more) as runtime:
            return await work(runtime)

    return asyncio.run(play())


def write(home, **files):
    for name, content in files.items():
        path = home.project / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_every_setting_is_told_with_its_origin_and_without_secrets(home):
    settings(
        home,
        'agent = "plan"\n[journal]\ndurability = "process"\n[providers.mine]\nbase_url = "http://127.0.0.1:1"\n'
        'key = "sk-very-secret-0123456789"\n[providers.mine.headers]\nX-Own = "hidden-too"\n',
    )
    (home.project / "bridle.toml").write_text("[behavior]\nmax_steps = 7\n")

    async def work(runtime):
        return await runtime.configuration()

    rows = {row.key: row for row in asked(home, work)}
    own = str(home.folder / ".config" / "bridle" / "config.toml")
    assert rows["agent"] == ConfigValue("agent", '"plan"', own)
    assert rows["behavior.max_steps"].value == "7" and rows["behavior.max_steps"].origin.endswith("bridle.toml")
    assert rows["ui.theme"].origin == "default"
    told = " ".join(row.value for row in rows.values())
    assert "very-secret" not in told and "hidden-too" not in told
    lines = home.run("config").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(rows)


def test_trust_is_told_with_what_is_ignored_and_the_command_that_trusts(home):
    write(home, **{"bridle.toml": '[permission]\nbash = "allow"\n'})

    async def work(runtime):
        return await runtime.trust()

    before = asked(home, work)
    assert (before.state, before.root) == ("unknown", str(home.project))
    assert before.command == f"bridle trust {home.project}"
    assert any("any command without asking" in words for words in before.ignored), before
    assert home.run("trust").returncode == 0
    assert asked(home, work) == TrustView("trusted", str(home.project), (), before.command)


def test_saved_approvals_are_told_as_the_command_lists_them(home):
    async def work(runtime):
        return await runtime.approvals()

    assert asked(home, work) == []
    model = home.script(calls(("webfetch", {"url": "http://127.0.0.1:1/"})), {"text": "Done."})
    _, lines = home.json("--model", model, "--on-ask", "pause", "go")
    (ask,) = [line for line in lines if line["type"] == "ask"]
    home.run("answer", ask["session"], ask["id"], "always")
    told = asked(home, work)
    assert told[0].startswith("webfetch: http")
    assert all(words in home.run("permissions").stdout for words in told)


def test_slash_commands_have_their_descriptions(home):
    settings(
        home,
        '[commands.review]\ntemplate = "Review $1"\ndescription = "Review a file"\nagent = "plan"\n'
        '[commands.dig]\ntemplate = "Dig"\nsubtask = true\nmodel = "a/b"\n',
    )

    async def work(runtime):
        return await runtime.slash_commands()

    own = [SlashCommand(name=name, description=OWN_PROMPTS[name].description) for name in ("init", "memory")]
    assert asked(home, work) == [
        SlashCommand(name="dig", model="a/b", subtask=True),
        *own,
        SlashCommand(name="review", description="Review a file", agent="plan"),
    ]


def test_models_have_windows_and_prices(home):
    settings(
        home,
        '[providers.mine]\nbase_url = "http://127.0.0.1:1/v1"\nwire = "chat"\nkey = "sk-very-secret-0123456789"\n'
        '[models."mine/big"]\ncontext_window = 50000\nprice = { input = 1.5, output = 3 }\n'
        'options = { own = "hidden-too" }\nvariants = { deep = { effort = "hidden-too" } }\n',
    )

    async def work(runtime):
        return [row for row in await runtime.model_rows() if row.provider == "mine"]

    (row,) = asked(home, work)
    assert (row.info.ref, row.info.context_window, row.info.price.input) == ("mine/big", 50_000, 1.5)
    assert row.info.variants == {"deep": {}}
    assert "secret" not in repr(row) and "hidden-too" not in repr(row)


def test_statistics_are_those_of_the_command(home):
    for words in ("one", "two"):
        home.json("--model", home.script({"text": "Hi."}), words)

    async def work(runtime):
        for wrong in (0, True, 2.5):
            with pytest.raises(ConfigError, match="days must be a whole number"):
                await runtime.stats(wrong)
        return await runtime.stats(7)

    found = asked(home, work)
    (use,) = found.agents.values()
    assert (list(found.agents), use.turns, use.endings) == (["build"], 2, {"answered": 2})
    assert [use.turns for use in found.days.values()] == [2]
    assert "agent build: 2 turns" in home.run("stats").stdout


def test_files_are_found_by_fragments_the_best_first_and_without_what_git_ignores(home):
    write(
        home,
        **{
            ".gitignore": "ignored/\n*.log\n",
            ".env": "KEY=1",
            "ignored__deep__main.py": "",
            "out.log": "",
            "src__Main.py": "",
            "src__domain__other.py": "",
            "src__main__helper.py": "",
            "docs__über main.md": "",
        },
    )
    subprocess.run(["git", "init", "-q", str(home.project)], check=True)

    async def work(runtime):
        async def found(text, limit=50):
            return [each.path for each in await runtime.find_files(text, limit)]

        assert await found("main") == [
            "src/main/",
            "src/Main.py",
            "src/domain/",
            "docs/über main.md",
            "src/main/helper.py",
            "src/domain/other.py",
        ]
        assert await found("MAIN py", 2) == ["src/Main.py", "src/main/helper.py"]
        assert await found("src/ helper") == ["src/main/helper.py"]
        assert await found("über") == ["docs/über main.md"]
        assert await found("env") == await found("log") == await found("ignored") == []
        assert (await runtime.find_files("domain", 1))[0] == FoundFile("src/domain/", "folder")
        assert len(await found("")) == 8
        with pytest.raises(ConfigError, match="limit must be at least 1"):
            await found("a", 0)

    asked(home, work)


def test_what_the_rules_keep_from_the_read_tool_is_neither_found_nor_read(home):
    settings(home, '[permission.read]\n"secret/*" = "deny"\n"maybe.txt" = "ask"\n')
    write(home, **{"secret__key.txt": "no", "maybe.txt": "no", "open.txt": "yes", ".env": "KEY=1"})
    (home.folder / "outside.txt").write_text("no")
    (home.project / "link.txt").symlink_to(home.folder / "outside.txt")
    os.link(home.folder / "outside.txt", home.project / "hard.txt")

    async def work(runtime):
        assert [each.path for each in await runtime.find_files("open")] == ["open.txt"]
        assert await runtime.find_files("key") == await runtime.find_files("maybe") == []
        assert await runtime.read_file("open.txt") == FileContent(path="open.txt", text="yes")
        outside = str(home.folder / "outside.txt")
        for path in ("secret/key.txt", "maybe.txt", ".env", "link.txt", "hard.txt", "../outside.txt", outside):
            with pytest.raises(AccessRefused, match="is not open to clients"):
                await runtime.read_file(path)
        with pytest.raises(AccessRefused):
            await runtime.list_folder("..")
        for path in ("nothing.txt", "."):
            with pytest.raises(ConfigError, match="read_file: "):
                await runtime.read_file(path)

    asked(home, work)


def test_folders_are_listed_and_files_read_whatever_they_hold(home):
    write(home, **{"a__b.txt": "text", "a__c.png": PNG, "a__d.bin": b"\xff\xfe\x01", "a__.hidden": "", "a__z__x": ""})

    async def work(runtime):
        assert await runtime.list_folder() == [FoundFile("a/", "folder")]
        listed = [FoundFile(f"a/{name}", "file") for name in (".hidden", "b.txt", "c.png", "d.bin")]
        assert await runtime.list_folder("a") == [*listed, FoundFile("a/z/", "folder")]
        image = await runtime.read_file("a/c.png")
        assert (image.media, b64decode(image.data), image.text) == ("image/png", PNG, "")
        assert b64decode((await runtime.read_file("a/d.bin")).data) == b"\xff\xfe\x01"
        with pytest.raises(ConfigError, match="is not a folder"):
            await runtime.list_folder("a/b.txt")

    asked(home, work)


def test_uploads_are_text_images_or_documents(home):
    async def work(runtime):
        assert await runtime.upload("a.txt", b"words") == File("a.txt", "words")
        image = await runtime.upload("a.png", PNG)
        assert (image.path, image.media, b64decode(image.data)) == ("a.png", "image/png", PNG)
        with pytest.raises(ConfigError, match=r"a\.bin is neither text nor PNG"):
            await runtime.upload("a.bin", b"\xff\xfe")
        with pytest.raises(ConfigError, match=r"big\.txt is larger than 20 MB"):
            await runtime.upload("big.txt", bytes(20 * 2**20 + 1))
        assert list(runtime.directory.iterdir()) == []

    asked(home, work)
