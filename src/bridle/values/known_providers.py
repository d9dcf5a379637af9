"""Table of the built-in model providers: API format, base URL and the environment variable of the API key."""

from __future__ import annotations

from bridle.values.provider import Provider

BUILT_IN: dict[str, Provider] = {
    "anthropic": Provider("messages", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "x-api-key"),
    "openai": Provider("responses", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": Provider(
        "chat", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", quirks={"thoughts": "reasoning_details"}
    ),
    "zai": Provider("chat", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    "google": Provider("chat", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "deepseek": Provider("chat", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    "groq": Provider("chat", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "xai": Provider("chat", "https://api.x.ai/v1", "XAI_API_KEY"),
    "cerebras": Provider("chat", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "togetherai": Provider("chat", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "deepinfra": Provider("chat", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "ollama": Provider("chat", "http://127.0.0.1:11434/v1", auth="none"),
    "lmstudio": Provider("chat", "http://127.0.0.1:1234/v1", auth="none"),
    "llamacpp": Provider("chat", "http://127.0.0.1:8080/v1", auth="none"),
    "vllm": Provider("chat", "http://127.0.0.1:8000/v1", auth="none"),
}
