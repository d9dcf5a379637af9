"""Models of local servers that are treated as small because of their names."""

import pytest

from bridle.values.provider import Provider

NAMES = {
    "qwen2.5-coder:0.5b": "text",
    "Qwen2.5-Coder-0.5B-Instruct-GGUF": "text",
    "smollm2:135m": "text",
    "llama3.2:1b": "text",
    "gemma-2B": "short",
    "qwen3:4b": "",
    "mixtral-8x7b": "",
    "gpt-oss:120b": "",
    "llama3.1": "",
    "mistral-7b-v0.3": "",
    "phi-1.5": "",
    "b1-large": "",
    "qwen3-30b-a3b": "",
}


@pytest.mark.parametrize(("name", "kind"), NAMES.items(), ids=NAMES)
def test_a_local_model_is_treated_as_small_by_its_name(name, kind, world):
    given = {
        "ours": Provider("chat", "http://127.0.0.1:1/v1"),
        "far": Provider("chat", "https://far.example", "FAR_KEY"),
    }
    info = world(given=given).model(f"ours/{name}")[1]
    assert (info.small, info.calls) == (kind != "", "text" if kind == "text" else "unknown")
    assert world({"FAR_KEY": "far"}, given).model(f"far/{name}")[1].small is False
    large, calling = (
        world(given=given, quirks={f"ours/{name}": {quirk: False}}).model(f"ours/{name}")[1]
        for quirk in ("small", "text_calls")
    )
    assert (large.small, large.small_by_name, large.calls, calling.calls) == (False, False, "unknown", "unknown")
