"""From a reference to a model: what is known of it, whose key is used, and which is taken where nobody named one."""

import asyncio
import contextlib
import http.server
import itertools
import socket
import threading
from typing import ClassVar

import keyring
import msgspec
import pytest
from keyring.backend import KeyringBackend

from bridle.core.agent import Price
from bridle.core.pricing import cost, worst_cost
from bridle.core.states import Usage
from bridle.errors import ConfigError
from bridle.model.anthropic import AnthropicModel
from bridle.model.availability import known_providers, reachable, try_key
from bridle.model.catalog import listed, model_info
from bridle.model.choose import choose, favorite, keyed
from bridle.model.keys import Keys
from bridle.model.local_servers import probe
from bridle.model.openai_chat import ChatModel
from bridle.model.openai_responses import ResponsesModel
from bridle.model.prompted_tools import TextCalls
from bridle.model.providers import BUILT_IN, Providers
from bridle.seams import SystemClock
from bridle.values.provider import Provider

NOWHERE = {"OLLAMA_HOST": "127.0.0.1:1"}


def test_what_is_known_of_a_model_and_who_says_so():
    info = model_info("anthropic", "claude-opus-4-7", "messages")
    assert (info.context_window, info.max_output_tokens, info.source) == (1_000_000, 32_000, "models.dev")
    assert info.price == Price(5.0, 25.0, 0.5, 6.25)
    assert (info.closing_tools, info.takes, info.reasons) == ("none", {"image", "pdf"}, True)
    assert info.variants["high"] == {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}


def test_a_model_that_nobody_described_has_the_stated_defaults():
    info = model_info("openrouter", "nobody/nothing-1", "chat")
    assert (info.context_window, info.max_output_tokens, info.price, info.source) == (128_000, 8_192, None, "defaults")


def test_a_price_that_one_list_lacks_comes_from_the_other():
    without = [entry.id for entry in listed()["anthropic"].entries() if entry.cost is None]
    assert without == []
    assert model_info("x-ai", "grok-4", "chat").price is not None


def test_long_requests_pay_the_price_of_long_requests():
    price = model_info("openai", "gpt-5.5", "responses").price
    assert price is not None and price.above == 272_000 and price.beyond is not None
    assert cost(price, Usage(input=100_000)) == pytest.approx(0.5)
    assert cost(price, Usage(input=200_000, cache_read=100_000)) == pytest.approx(2.1)
    assert worst_cost(price, 300_000, 1_000) == pytest.approx(3.045)


@pytest.mark.parametrize(
    ("ref", "wire", "closing"),
    [
        ("anthropic/claude-opus-4-7", AnthropicModel, "none"),
        ("openai/gpt-5.5", ResponsesModel, "none"),
        ("openrouter/z-ai/glm-5", ChatModel, "none"),
        ("zai/glm-5.1", ChatModel, "omit"),
        ("groq/openai/gpt-oss-120b", ChatModel, "omit"),
        ("minimax/MiniMax-M2", AnthropicModel, "none"),
        ("ollama/llama3.2", ChatModel, "omit"),
    ],
)
def test_each_provider_has_its_wire_and_its_way_to_close(ref, wire, closing, world):
    names = [*(provider.key_env for provider in BUILT_IN.values()), *listed()["minimax"].env]
    model, info = world(dict.fromkeys(names, "key-for-this-test")).model(ref)
    assert (type(model), info.closing_tools) == (wire, closing)


@pytest.mark.parametrize(
    ("ref", "given", "words"),
    [
        ("claude", {}, "write PROVIDER/MODEL"),
        ("anthropic/claude-opus-4-7", {}, "set ANTHROPIC_API_KEY, or run: bridle auth login anthropic"),
        ("mine/model", {"mine": Provider(base_url="http://127.0.0.1:1")}, "needs base_url and wire"),
        ("mine/model", {"mine": Provider("chat", "http://127.0.0.1:1", quirks={"odd": 1})}, "quirks of mine/model"),
        ("nobody/x", {}, "nobody/x is not available"),
    ],
)
def test_what_is_missing_is_named(ref, given, words, world):
    with pytest.raises(ConfigError, match=words):
        world(given=given).model(ref)


def test_settings_lie_over_what_is_known(world):
    given = {
        "openai": Provider(base_url="http://127.0.0.1:1/v1", headers={"x-team": "blue"}, options={"seed": 1}),
        "ours": Provider("chat", "http://127.0.0.1:1/v1", "OUR_KEY", quirks={"text_calls": True, "small": True}),
    }
    environment = {"OUR_KEY": "secret-of-ours", "OPENAI_API_KEY": "theirs"}
    providers = world(environment, given, {"ours/tiny": {"constrained": True, "max_tokens": "most"}})
    model, info = providers.model("openai/gpt-5.5")
    assert (type(model), info.options) == (ResponsesModel, {"seed": 1})
    assert providers.lane("openai", providers.provider("openai")).headers()["x-team"] == "blue"
    model, info = providers.model("ours/tiny")
    assert (type(model), info.small, info.price) == (TextCalls, True, None)
    assert providers.lane("ours", given["ours"]).headers()["authorization"] == "Bearer secret-of-ours"


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("127.0.0.1:11500", "http://127.0.0.1:11500/v1"),
        ("http://box.local", "http://box.local:11434/v1"),
        ("0.0.0.0:11434", "http://127.0.0.1:11434/v1"),
    ],
)
def test_ollamas_address_may_be_short(given, address, tmp_path):
    assert Providers({}, {"OLLAMA_HOST": given}, tmp_path, tmp_path).provider("ollama").base_url == address


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1"),
        ("https://api.z.ai/api/anthropic/", "https://api.z.ai/api/anthropic/v1"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
    ],
)
def test_anthropics_address_is_read_as_its_own_tools_read_it(given, address, tmp_path):
    assert Providers({}, {"ANTHROPIC_BASE_URL": given}, tmp_path, tmp_path).provider("anthropic").base_url == address


def test_an_address_that_makes_no_sense_is_named(tmp_path):
    with pytest.raises(ConfigError, match="OLLAMA_HOST in the environment: 'http://foo:bar'"):
        Providers({}, {"OLLAMA_HOST": "http://foo:bar"}, tmp_path, tmp_path).provider("ollama")


def test_an_ollama_elsewhere_is_still_ones_own(tmp_path):
    _, info = Providers({}, {"OLLAMA_HOST": "http://nobody.invalid"}, tmp_path, tmp_path).model("ollama/qwen")
    assert (info.context_window, info.price) == (4_096, None)


def test_an_address_with_places_to_fill(world):
    with pytest.raises(ConfigError, match="databricks needs DATABRICKS_HOST in the environment"):
        world().model("databricks/databricks-claude-sonnet-4-5")
    filled = world({"DATABRICKS_HOST": "x.example", "DATABRICKS_TOKEN": "token-of-this-test"})
    provider = filled.provider("databricks")
    assert provider.base_url.startswith("https://x.example/") and provider.key_env == "DATABRICKS_TOKEN"


def test_ones_own_provider_is_as_good_as_any(world):
    given = {"ours": Provider("chat", "https://models.example/v1", "OUR_KEY")}
    providers = world({"OUR_KEY": "secret-of-ours"}, given)
    assert keyed(providers) == [("ours", "OUR_KEY")]
    assert known_providers(providers)["ours"] == ("OUR_KEY",)
    assert [reach.provider for reach in reachable(providers)] == ["ours", "embedded"]


def test_bedrock_keeps_its_tools_in_a_closing_request():
    assert model_info("amazon-bedrock", "anthropic.claude-opus-4-7", "bedrock").closing_tools == "none"


def test_the_order_of_choice(world, tmp_path):
    everything = {"OPENAI_API_KEY": "b" * 9, "ANTHROPIC_API_KEY": "a" * 9, "GEMINI_API_KEY": "c" * 9}
    choice = choose(world(everything))
    assert choice.ref.startswith("anthropic/claude-sonnet-") and "ANTHROPIC_API_KEY" in choice.why
    del everything["ANTHROPIC_API_KEY"]
    assert choose(world(everything)).ref.startswith("openai/gpt-")
    providers = world()
    assert providers.keys.store("zai", "k" * 9) == "file"
    assert choose(providers).ref.startswith("zai/glm-")
    assert providers.keys.forget("zai")
    assert choose(providers).ref == "embedded/smollm2"
    with pytest.raises(ConfigError, match="no model is available"):
        choose(providers, embedded=False)


def test_every_provider_that_may_be_taken_has_a_model_to_take():
    hosted = [name for name, provider in BUILT_IN.items() if provider.key_env]
    assert {name: favorite(name) for name in hosted if favorite(name) is None} == {}


class Said(http.server.BaseHTTPRequestHandler):
    """A server on this machine, or a provider: says what it was told to say, and remembers the headers."""

    says: ClassVar = {}
    seen: ClassVar = []

    def do_GET(self):
        self.seen.append((self.path, dict(self.headers)))
        status, body = self.says.get(self.path, (404, {}))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(msgspec.json.encode(body))

    def log_message(self, *_):
        pass


@pytest.fixture
def said():
    Said.says, Said.seen = {}, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Said)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("vllm", "/v1/models", {"data": [{"id": "qwen", "max_model_len": 40_960}]}),
        ("llamacpp", "/props", {"default_generation_settings": {"n_ctx": 40_960}}),
        ("lmstudio", "/api/v0/models", {"data": [{"id": "qwen", "loaded_context_length": 40_960}]}),
        ("ollama", "/api/ps", {"models": [{"name": "qwen", "context_length": 40_960}]}),
    ],
)
def test_a_server_on_this_machine_is_found_and_asked_how_much_it_holds(name, path, body, said, world):
    Said.says = {"/v1/models": (200, {"data": [{"id": "nomic-embed"}, {"id": "qwen"}]}), path: (200, body)}
    providers = world(given={name: Provider(base_url=said)})
    choice = choose(providers)
    assert (choice.ref, choice.why) == (f"{name}/qwen", f"{name} answers at {said}")
    _, info = providers.model(choice.ref)
    assert (info.context_window, info.max_output_tokens, info.source) == (40_960, 10_240, "the server")
    assert [reach.provider for reach in reachable(providers)] == [name, "embedded"]


@pytest.mark.parametrize(
    "body",
    [{}, [], "x", {"data": "x"}, {"data": [{"id": 7}, {"id": ""}, {"id": "a\nb"}, {"id": "\x1b]0;x"}]}, {"data": []}],
)
def test_a_server_that_talks_nonsense_is_nobody(body, said, world):
    Said.says = {"/v1/models": (200, body)}
    assert choose(world(given={"vllm": Provider(base_url=said)})).ref == "embedded/smollm2"


def test_a_server_that_drips_is_given_up_in_time():
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def drip():
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            for letter in itertools.cycle(b"HTTP/1.0 200 OK\r\nx: "):
                if stop.wait(0.05):
                    break
                connection.send(bytes([letter]))

    thread = threading.Thread(target=drip)
    thread.start()
    before = SystemClock().monotonic()
    assert probe("vllm", f"http://127.0.0.1:{listener.getsockname()[1]}/v1") is None
    # Not a measure of speed: without its own deadline this would go on for ever.
    assert SystemClock().monotonic() - before < 5
    stop.set()
    thread.join()
    listener.close()


@pytest.mark.parametrize("window", [True, -1, 0, 10**30, "4096", None, 2.5])
def test_a_window_that_makes_no_sense_is_not_believed(window, said, world):
    Said.says = {"/v1/models": (200, {"data": [{"id": "qwen", "max_model_len": window}]})}
    _, info = world(given={"vllm": Provider(base_url=said)}).model("vllm/qwen")
    assert (info.context_window, info.source) == (8_192, "defaults")


class Ring(KeyringBackend):
    """A keyring as desktops have them."""

    priority = 5

    def __init__(self):
        self.kept = {}

    def get_password(self, service, username):
        return self.kept.get((service, username))

    def set_password(self, service, username, password):
        self.kept[service, username] = password

    def delete_password(self, service, username):
        del self.kept[service, username]


def test_a_key_is_kept_in_the_keyring_where_there_is_one(tmp_path, monkeypatch):
    ring = Ring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: ring)
    keys = Keys({}, tmp_path / "deep" / "keys.json")
    assert keys.store("openai", "sk-canary-one") == "keyring"
    assert b"canary" not in keys.file.read_bytes()
    found = keys.find("openai", ("OPENAI_API_KEY",))
    assert (found.value, found.source, "canary" in repr(found)) == ("sk-canary-one", "the keyring", False)
    assert keys.forget("openai") and not keys.forget("openai")
    assert (keys.find("openai", ()), ring.kept) == (None, {})


def test_a_keyring_that_refuses_is_named(tmp_path, monkeypatch):
    class Locked(Ring):
        def set_password(self, service, username, password):
            raise keyring.errors.KeyringLocked("it is locked")

    monkeypatch.setattr(keyring, "get_keyring", Locked)
    with pytest.raises(ConfigError, match="the keyring refuses: it is locked"):
        Keys({}, tmp_path / "keys.json").store("openai", "sk-canary")


def test_a_key_in_a_file_can_be_read_by_its_owner_alone(world, tmp_path):
    keys = world().keys
    assert keys.store("openai", "sk-canary-one") == "file"
    assert keys.file.stat().st_mode & 0o777 == 0o600
    assert keys.store("zai", "sk-canary-two") == "file"
    assert keys.names() == ["openai", "zai"]
    assert keys.find("openai", ()).value == "sk-canary-one"
    assert keyed(world({"OPENAI_API_KEY": "sk-other"}))[0] == ("openai", "OPENAI_API_KEY")
    keys.file.chmod(0o666)
    assert keys.names() == ["openai", "zai"] and keys.file.stat().st_mode & 0o777 == 0o600
    for broken in (b"{broken", b"\xff", b"[" * 50_000, b'{"openai": {"key": 7}}', b"[]"):
        keys.file.write_bytes(broken)
        with pytest.raises(ConfigError, match=r"keys\.json: cannot be read"):
            keys.names()


def test_a_file_of_keys_may_lie_elsewhere(world, tmp_path):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("{}")
    keys = world().keys
    keys.file.symlink_to(elsewhere)
    keys.store("openai", "sk-canary-one")
    assert keys.file.is_symlink() and b"canary" in elsewhere.read_bytes()


def test_logins_at_the_same_time_lose_nothing(world):
    names = [f"provider-{number}" for number in range(12)]
    threads = [threading.Thread(target=world().keys.store, args=(name, f"key-{name}")) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world().keys.names() == sorted(names)


@pytest.mark.parametrize(("status", "words"), [(200, ""), (404, "answered with HTTP 404"), (500, "HTTP 500")])
def test_a_key_is_tried_with_one_request(status, words, said):
    Said.says = {"/v1/models": (status, {})}
    found = asyncio.run(try_key("ours", Provider("messages", said), "sk-canary"))
    assert words in found and bool(found) == bool(words)
    assert [headers["x-api-key"] for _, headers in Said.seen] == ["sk-canary"]


def test_a_key_that_is_refused_is_an_error(said):
    Said.says = {"/v1/models": (401, {})}
    with pytest.raises(ConfigError, match="ours refuses this key"):
        asyncio.run(try_key("ours", Provider("chat", said), "sk-canary"))
