"""Files that users of coding agents keep in their repositories, and what must come out of each."""

from __future__ import annotations

from typing import Any, NamedTuple

NOTHING: dict[str, Any] = {}


class Shape(NamedTuple):
    """One project's files, and what they must become."""

    name: str
    files: dict[str, str]
    agents: dict[str, dict[str, Any]] = NOTHING
    settings: dict[str, Any] = NOTHING
    problems: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()


OPENCODE_JSON = [
    Shape(
        "only_a_model",
        {"opencode.json": '{"$schema": "https://opencode.ai/config.json", "model": "anthropic/claude-sonnet-4-5"}'},
        settings={"model": "anthropic/claude-sonnet-4-5"},
    ),
    Shape(
        "two_models_and_default_agent",
        {
            "opencode.json": """\
{
  "$schema": "https://opencode.ai/config.json",
  "model": "openai/gpt-5.1",
  "small_model": "openai/gpt-5-mini",
  "default_agent": "plan"
}
"""
        },
        settings={"model": "openai/gpt-5.1", "small_model": "openai/gpt-5-mini", "agent": "plan"},
    ),
    Shape("empty_object", {"opencode.json": "{}\n"}),
    Shape(
        "jsonc_with_comments_and_trailing_commas",
        {
            "opencode.jsonc": """\
// Shared by the whole payments team, ask in #payments-dev before you change it.
{
  "$schema": "https://opencode.ai/config.json",
  /* The big one is only for planning,
     everything else goes to the cheap one. */
  "model": "anthropic/claude-haiku-4-5", // see the budget sheet
  "agent": {
    "ledger": {
      "description": "Checks double-entry bookkeeping // not a comment",
      "mode": "subagent",
      "steps": 12, // was 30
    },
  },
}
"""
        },
        {
            "ledger": {
                "description": "Checks double-entry bookkeeping // not a comment",
                "mode": "subagent",
                "steps": 12,
            }
        },
        {"model": "anthropic/claude-haiku-4-5"},
    ),
    Shape(
        "hash_comment",
        {
            "opencode.json": """\
{
  # not even JSONC knows this one, so it stays out: see the next line
}
"""
        },
        problems=("opencode.json",),
    ),
    Shape(
        "line_comments_in_plain_json_name",
        {
            "opencode.json": """\
{
  // "model": "openai/gpt-5.1",
  "model": "google/gemini-2.5-pro",
}
"""
        },
        settings={"model": "google/gemini-2.5-pro"},
    ),
    Shape(
        "in_the_hidden_folder",
        {".opencode/opencode.json": '{\n\t"model": "mistral/devstral-medium",\n\t"default_agent": "build"\n}\n'},
        settings={"model": "mistral/devstral-medium", "agent": "build"},
    ),
    Shape(
        "hidden_folder_jsonc_over_root",
        {
            "opencode.json": '{"model": "openai/gpt-5.1", "small_model": "openai/gpt-5-nano"}',
            ".opencode/opencode.jsonc": '{\n  // mine\n  "model": "openai/gpt-5.1-codex",\n}\n',
        },
        settings={"model": "openai/gpt-5.1-codex", "small_model": "openai/gpt-5-nano"},
    ),
    Shape(
        "byte_order_mark_and_crlf",
        {"opencode.json": '\ufeff{\r\n  "model": "openai/gpt-4.1",\r\n  "share": "disabled"\r\n}\r\n'},
        settings={"model": "openai/gpt-4.1"},
    ),
    Shape(
        "agent_with_every_key",
        {
            "opencode.json": """\
{
  "agent": {
    "release-notes": {
      "description": "Collects merged changes and writes them up for customers",
      "mode": "subagent",
      "model": "anthropic/claude-opus-4-5",
      "variant": "high",
      "temperature": 0.35,
      "top_p": 0.9,
      "prompt": "You write release notes.\\nNever mention ticket numbers.",
      "hidden": true,
      "color": "#38bdf8",
      "steps": 18,
      "options": {"reasoningSummary": "auto"},
      "tools": {"bash": true, "webfetch": false},
      "permission": {"edit": {"*": "deny", "CHANGELOG.md": "allow"}, "bash": "ask"}
    }
  }
}
"""
        },
        {
            "release-notes": {
                "description": "Collects merged changes and writes them up for customers",
                "mode": "subagent",
                "model": "anthropic/claude-opus-4-5",
                "variant": "high",
                "temperature": 0.35,
                "top_p": 0.9,
                "prompt": "You write release notes.\nNever mention ticket numbers.",
                "hidden": True,
                "color": "#38bdf8",
                "steps": 18,
                "off": ["webfetch"],
                "verdicts": {"edit src/app.ts": "deny", "edit CHANGELOG.md": "allow", "bash git log": "ask"},
            }
        },
    ),
    Shape(
        "built_in_agents_tuned",
        {
            "opencode.json": """\
{
  "$schema": "https://opencode.ai/config.json",
  "agent": {
    "build": {"model": "openai/gpt-5.1-codex", "temperature": 0.1, "maxSteps": 60},
    "plan": {"model": "openai/gpt-5.1", "permission": {"bash": "deny", "webfetch": "allow"}},
    "general": {"disable": true}
  }
}
"""
        },
        {
            "build": {"model": "openai/gpt-5.1-codex", "temperature": 0.1, "steps": 60},
            "plan": {
                "model": "openai/gpt-5.1",
                "verdicts": {"bash ls": "deny", "webfetch *": "allow", "edit src/a.py": "deny"},
            },
            "general": {"disabled": True},
        },
    ),
    Shape(
        "prompt_from_a_file",
        {
            "opencode.json": """\
{
  "agent": {
    "dba": {
      "description": "Looks at slow queries",
      "prompt": "{file:./prompts/dba.md}",
      "mode": "all"
    }
  }
}
""",
            "prompts/dba.md": "# Database work\n\nAlways run EXPLAIN first.\nNever drop a table.\n\n",
        },
        {
            "dba": {
                "description": "Looks at slow queries",
                "prompt": "# Database work\n\nAlways run EXPLAIN first.\nNever drop a table.",
                "mode": "all",
            }
        },
    ),
    Shape(
        "prompt_file_beside_the_hidden_config",
        {
            ".opencode/opencode.jsonc": """\
{
  "agent": {
    "ui": {
      "prompt": "{file:./prompts/ui.txt}",
      "mode": "primary", // Tab switches to it
    },
  },
}
""",
            ".opencode/prompts/ui.txt": 'You build screens.\nUse the "tokens" package; no raw colours.\n',
        },
        {"ui": {"mode": "primary", "prompt": 'You build screens.\nUse the "tokens" package; no raw colours.'}},
    ),
    Shape(
        "prompt_file_is_missing",
        {"opencode.json": '{"agent": {"qa": {"prompt": "{file:./prompts/qa.md}", "description": "Tests"}}}'},
        problems=("prompts/qa.md",),
    ),
    Shape(
        "older_modes",
        {
            "opencode.json": """\
{
  "mode": {
    "build": {"model": "anthropic/claude-sonnet-4-5"},
    "docs": {
      "prompt": "You only touch files below docs/.",
      "temperature": 0.6,
      "tools": {"bash": false, "webfetch": false}
    }
  }
}
"""
        },
        {
            "build": {"model": "anthropic/claude-sonnet-4-5", "mode": "primary"},
            "docs": {
                "mode": "primary",
                "prompt": "You only touch files below docs/.",
                "temperature": 0.6,
                "off": ["bash", "webfetch"],
            },
        },
    ),
    Shape(
        "modes_and_agents_together",
        {
            "opencode.json": """\
{
  "mode": {"pair": {"prompt": "Explain each change before you make it."}},
  "agent": {"scout": {"mode": "subagent", "description": "Finds call sites", "maxSteps": 8}}
}
"""
        },
        {
            "pair": {"mode": "primary", "prompt": "Explain each change before you make it."},
            "scout": {"mode": "subagent", "description": "Finds call sites", "steps": 8},
        },
    ),
    Shape(
        "permission_is_one_word",
        {"opencode.json": '{"permission": "allow"}'},
        {"build": {"verdicts": {"bash make deploy": "allow", "edit src/a.py": "allow", "webfetch *": "allow"}}},
    ),
    Shape(
        "permission_words",
        {
            "opencode.json": """\
{
  "$schema": "https://opencode.ai/config.json",
  "permission": {
    "edit": "ask",
    "bash": "deny",
    "webfetch": "allow"
  }
}
"""
        },
        {"build": {"verdicts": {"edit src/a.py": "ask", "bash ls": "deny", "webfetch *": "allow"}}},
    ),
    Shape(
        "permission_tables",
        {
            "opencode.json": """\
{
  "permission": {
    "bash": {
      "*": "ask",
      "git status": "allow",
      "git diff *": "allow",
      "npm run *": "allow",
      "npm publish*": "deny",
      "terraform *": "deny",
      "terraform plan *": "ask"
    },
    "edit": {"*": "allow", "infra/*": "deny", "infra/README.md": "allow"},
    "external_directory": {"*": "ask", "/srv/fixtures/*": "allow"}
  }
}
"""
        },
        {
            "build": {
                "verdicts": {
                    "bash git status": "allow",
                    "bash git diff": "allow",
                    "bash git diff HEAD~2": "allow",
                    "bash git push": "ask",
                    "bash npm run lint": "allow",
                    "bash npm publish --tag next": "deny",
                    "bash terraform apply": "deny",
                    "bash terraform plan -out x": "ask",
                    "edit src/a.py": "allow",
                    "edit infra/main.tf": "deny",
                    "edit infra/README.md": "allow",
                    "external_directory /srv/fixtures/users.csv": "allow",
                }
            }
        },
    ),
    Shape(
        "catch_all_stands_last",
        {"opencode.json": '{"permission": {"bash": {"git log *": "allow", "rm *": "deny", "*": "ask"}}}'},
        {"build": {"verdicts": {"bash git log -3": "ask", "bash rm x": "ask"}}},
    ),
    Shape(
        "star_permission_then_exceptions",
        {"opencode.json": '{"permission": {"*": "deny", "read": "allow", "grep": "allow", "bash": {"ls *": "allow"}}}'},
        {
            "build": {
                "verdicts": {
                    "edit src/a.py": "deny",
                    "read src/a.py": "allow",
                    "bash ls src": "allow",
                    "bash cat x": "deny",
                    "webfetch *": "deny",
                }
            }
        },
    ),
    Shape(
        "agent_permission_over_the_top_one",
        {
            "opencode.json": """\
{
  "permission": {"bash": {"*": "ask", "git push *": "deny"}, "edit": "deny"},
  "agent": {
    "shipper": {
      "description": "Pushes finished branches",
      "permission": {"bash": {"git push *": "allow", "git push --force*": "deny"}}
    }
  }
}
"""
        },
        {
            "build": {"verdicts": {"bash git push": "deny", "edit src/a.py": "deny"}},
            "shipper": {
                "description": "Pushes finished branches",
                "verdicts": {
                    "bash git push": "allow",
                    "bash git push origin topic": "allow",
                    "bash git push --force": "deny",
                    "bash make": "ask",
                    "edit src/a.py": "deny",
                },
            },
        },
    ),
    Shape(
        "agent_permission_is_one_word",
        {
            "opencode.json": """\
{"agent": {"reader": {"mode": "subagent", "permission": "deny"}, "yolo": {"permission": "allow"}}}
"""
        },
        {
            "reader": {"mode": "subagent", "verdicts": {"bash ls": "deny", "edit src/a.py": "deny"}},
            "yolo": {"verdicts": {"bash rm x": "allow", "webfetch *": "allow"}},
        },
    ),
    Shape(
        "task_permission_by_agent_name",
        {
            "opencode.json": """\
{
  "agent": {
    "lead": {
      "mode": "primary",
      "description": "Hands work out",
      "permission": {"task": {"*": "deny", "review-*": "allow", "review-legal": "ask"}, "edit": "deny"}
    }
  }
}
"""
        },
        {
            "lead": {
                "mode": "primary",
                "description": "Hands work out",
                "verdicts": {
                    "task general": "deny",
                    "task review-style": "allow",
                    "task review-legal": "ask",
                    "edit src/a.py": "deny",
                },
            }
        },
    ),
    Shape(
        "tools_switched_off_for_all",
        {"opencode.json": '{"tools": {"webfetch": false, "todowrite": false, "bash": true}}'},
        {"build": {"off": ["todowrite", "webfetch"]}},
    ),
    Shape(
        "agent_tools_table",
        {
            "opencode.json": """\
{
  "agent": {
    "auditor": {
      "description": "Reads the code for licence trouble",
      "mode": "subagent",
      "tools": {"write": false, "edit": false, "bash": false, "read": true, "grep": true}
    }
  }
}
"""
        },
        {
            "auditor": {
                "description": "Reads the code for licence trouble",
                "mode": "subagent",
                "off": ["bash", "edit", "write"],
            }
        },
    ),
    Shape(
        "instructions_list",
        {
            "opencode.json": """\
{
  "instructions": ["CONTRIBUTING.md", "docs/style/*.md", "packages/*/NOTES.md"]
}
""",
            "CONTRIBUTING.md": "Every commit names the module it touches.\n",
            "docs/style/python.md": "Prefer dataclasses over dictionaries.\n",
        },
        settings={"instructions": ["CONTRIBUTING.md", "docs/style/*.md", "packages/*/NOTES.md"]},
        instructions=("names the module it touches", "Prefer dataclasses"),
    ),
    Shape(
        "commands",
        {
            "opencode.json": """\
{
  "command": {
    "coverage": {
      "template": "Run the tests with coverage and tell me which of $ARGUMENTS is not covered.",
      "description": "What is not tested",
      "agent": "build",
      "model": "anthropic/claude-haiku-4-5"
    },
    "standup": {"template": "What did I commit since yesterday?\\n\\n!`git log --since=yesterday --oneline`"}
  }
}
"""
        },
        settings={
            "commands.coverage.template": (
                "Run the tests with coverage and tell me which of $ARGUMENTS is not covered."
            ),
            "commands.standup.template": (
                "What did I commit since yesterday?\n\n!`git log --since=yesterday --oneline`"
            ),
        },
    ),
    Shape(
        "local_model_server",
        {
            "opencode.json": """\
{
  "$schema": "https://opencode.ai/config.json",
  "model": "workshop/qwen3-coder-30b",
  "provider": {
    "workshop": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "The box under the desk",
      "options": {"baseURL": "http://192.168.7.20:8000/v1", "timeout": 900000},
      "models": {
        "qwen3-coder-30b": {
          "name": "Qwen3 Coder",
          "limit": {"context": 131072, "output": 16384}
        }
      }
    }
  }
}
"""
        },
        settings={
            "model": "workshop/qwen3-coder-30b",
            "providers.workshop.wire": "chat",
            "providers.workshop.base_url": "http://192.168.7.20:8000/v1",
            "models.workshop/qwen3-coder-30b.context_window": 131072,
            "models.workshop/qwen3-coder-30b.max_output_tokens": 16384,
        },
    ),
    Shape(
        "company_gateway_with_prices",
        {
            "opencode.jsonc": """\
{
  "provider": {
    "gateway": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {
        "baseURL": "https://llm.example.org/openai/v1",
        "apiKey": "{env:GATEWAY_TOKEN}",
        "headers": {"X-Cost-Centre": "4711"},
        "headerTimeout": 60000,
        "chunkTimeout": 45000
      },
      "models": {
        "large": {
          "limit": {"context": 200000, "output": 32000},
          "cost": {"input": 2.5, "output": 12, "cache_read": 0.25, "cache_write": 3.1}
        },
        "small": {"cost": {"input": 0.2, "output": 0.8}, "options": {"reasoningEffort": "low"}}
      }
    }
  }
}
"""
        },
        settings={
            "providers.gateway.wire": "chat",
            "providers.gateway.base_url": "https://llm.example.org/openai/v1",
            "providers.gateway.key_env": "GATEWAY_TOKEN",
            "models.gateway/large.context_window": 200000,
            "models.gateway/large.max_output_tokens": 32000,
            "models.gateway/large.price.input": 2.5,
            "models.gateway/large.price.output": 12,
            "models.gateway/small.price.input": 0.2,
            "models.gateway/small.price.output": 0.8,
        },
    ),
    Shape(
        "three_wires",
        {
            "opencode.json": """\
{
  "provider": {
    "eu-openai": {
      "npm": "@ai-sdk/openai",
      "options": {"baseURL": "https://eu.example.net/v1", "apiKey": "{env:EU_OPENAI_KEY}"}
    },
    "eu-claude": {
      "npm": "@ai-sdk/anthropic",
      "options": {"baseURL": "https://claude.example.net/v1", "apiKey": "{env:EU_CLAUDE_KEY}"}
    },
    "lab": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "http://localhost:1234/v1"}
    }
  }
}
"""
        },
        settings={
            "providers.eu-openai.wire": "responses",
            "providers.eu-openai.base_url": "https://eu.example.net/v1",
            "providers.eu-openai.key_env": "EU_OPENAI_KEY",
            "providers.eu-claude.wire": "messages",
            "providers.eu-claude.key_env": "EU_CLAUDE_KEY",
            "providers.lab.wire": "chat",
            "providers.lab.base_url": "http://localhost:1234/v1",
        },
    ),
    Shape(
        "key_from_a_file",
        {
            "opencode.json": """\
{
  "provider": {
    "vault": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "https://vault.example.org/v1", "apiKey": "{file:./secrets/vault.key}"}
    }
  }
}
""",
            "secrets/vault.key": "not-a-real-key\n",
        },
        settings={"providers.vault.wire": "chat", "providers.vault.base_url": "https://vault.example.org/v1"},
    ),
    Shape(
        "model_name_with_slashes_and_colon",
        {
            "opencode.json": """\
{
  "model": "relay/qwen/qwen3-235b:free",
  "provider": {
    "relay": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "https://relay.example.com/api/v1"},
      "models": {"qwen/qwen3-235b:free": {"limit": {"context": 40960, "output": 8192}}}
    }
  }
}
"""
        },
        settings={
            "model": "relay/qwen/qwen3-235b:free",
            "models.relay/qwen/qwen3-235b:free.context_window": 40960,
            "models.relay/qwen/qwen3-235b:free.max_output_tokens": 8192,
        },
    ),
    Shape(
        "known_provider_with_another_address",
        {
            "opencode.json": """\
{"provider": {"anthropic": {"options": {"baseURL": "https://proxy.example.org/anthropic/v1"}}}}
"""
        },
        settings={"providers.anthropic.base_url": "https://proxy.example.org/anthropic/v1"},
    ),
    Shape(
        "everything_that_is_of_no_concern",
        {
            "opencode.json": """\
{
  "$schema": "https://opencode.ai/config.json",
  "theme": "gruvbox",
  "username": "mira",
  "share": "manual",
  "autoupdate": "notify",
  "plugin": ["opencode-wakatime@1.2.0", "file:///home/mira/plugins/bell.ts"],
  "keybinds": {"leader": "ctrl+a", "session_new": "<leader>n"},
  "tui": {"scroll_speed": 4, "diff_style": "stacked"},
  "lsp": {"pyright": {"disabled": true}, "zls": {"command": ["zls"], "extensions": [".zig"]}},
  "formatter": {"prettier": {"disabled": true}},
  "experimental": {"batch_tool": true},
  "model": "openai/gpt-5.1"
}
"""
        },
        settings={"model": "openai/gpt-5.1"},
    ),
    Shape(
        "servers_beside_agents",
        {
            "opencode.json": """\
{
  "mcp": {
    "tickets": {"type": "remote", "url": "https://tickets.example.com/mcp", "enabled": false},
    "shots": {"type": "local", "command": ["npx", "-y", "shots-mcp"], "environment": {"SHOTS_DIR": "out"}}
  },
  "tools": {"shots_*": false},
  "agent": {"visual": {"description": "Compares screenshots", "tools": {"shots_*": true}, "steps": 9}}
}
"""
        },
        {"visual": {"description": "Compares screenshots", "steps": 9}},
    ),
    Shape(
        "unknown_agent_keys_are_options",
        {
            "opencode.json": """\
{
  "agent": {
    "thinker": {
      "model": "openai/gpt-5.1",
      "reasoningEffort": "high",
      "textVerbosity": "low",
      "top_p": 1,
      "steps": 25
    }
  }
}
"""
        },
        {"thinker": {"model": "openai/gpt-5.1", "top_p": 1.0, "steps": 25}},
    ),
    Shape(
        "nulls_mean_unset",
        {
            "opencode.json": """\
{"agent": {"quiet": {"description": "Says little", "steps": null, "model": null, "temperature": null}}}
"""
        },
        {"quiet": {"description": "Says little"}},
    ),
    Shape(
        "zero_steps_only_talks",
        {"opencode.json": '{"agent": {"rubber-duck": {"description": "Listens", "steps": 0, "temperature": 0}}}'},
        {"rubber-duck": {"description": "Listens", "steps": 0, "temperature": 0.0}},
    ),
    Shape(
        "both_spellings_agree",
        {"opencode.json": '{"agent": {"porter": {"description": "Moves code", "steps": 14, "maxSteps": 14}}}'},
        {"porter": {"description": "Moves code", "steps": 14}},
    ),
    Shape(
        "disabled_and_enabled",
        {
            "opencode.json": """\
{
  "agent": {
    "old-helper": {"description": "Kept for reference", "disable": true, "steps": 4},
    "new-helper": {"description": "Takes over", "disable": false}
  }
}
"""
        },
        {"old-helper": {"disabled": True}, "new-helper": {"description": "Takes over"}},
    ),
    Shape(
        "names_with_spaces_and_letters_from_elsewhere",
        {
            "opencode.json": """\
{
  "agent": {
    "Übersetzer": {"description": "Überträgt Texte ins Englische — höflich", "mode": "subagent", "color": "accent"},
    "code_review.v2": {"description": "第二版の審査", "prompt": "日本語で答えてください。"}
  }
}
"""
        },
        {
            "Übersetzer": {
                "description": "Überträgt Texte ins Englische — höflich",
                "mode": "subagent",
                "color": "accent",
            },
            "code_review.v2": {"description": "第二版の審査", "prompt": "日本語で答えてください。"},
        },
    ),
    Shape(
        "second_form_agents",
        {
            "opencode.json": """\
{
  "$schema": "https://opencode.ai/config.json",
  "default_agent": "surgeon",
  "agents": {
    "surgeon": {
      "description": "Makes the smallest change that works",
      "mode": "primary",
      "model": "anthropic/claude-opus-4-5#max",
      "system": "Change as few lines as you can.",
      "steps": 30,
      "color": "warning",
      "request": {"body": {"temperature": 0.2}}
    },
    "retired": {"disabled": true}
  }
}
"""
        },
        {
            "surgeon": {
                "description": "Makes the smallest change that works",
                "mode": "primary",
                "model": "anthropic/claude-opus-4-5",
                "variant": "max",
                "prompt": "Change as few lines as you can.",
                "steps": 30,
                "color": "warning",
                "temperature": 0.2,
            },
            "retired": {"disabled": True},
        },
        {"agent": "surgeon"},
    ),
    Shape(
        "second_form_permission_list",
        {
            "opencode.jsonc": """\
{
  "permissions": [
    { "action": "*", "resource": "*", "effect": "ask" },
    { "action": "read", "resource": "*", "effect": "allow" },
    { "action": "shell", "resource": "git *", "effect": "allow" },
    { "action": "shell", "resource": "git push *", "effect": "deny" }, // releases go through CI
    { "action": "edit", "resource": "vendor/*", "effect": "deny" },
    { "action": "webfetch", "resource": "*", "effect": "deny" },
    { "action": "subagent", "resource": "explore", "effect": "allow" },
  ],
}
"""
        },
        {
            "build": {
                "verdicts": {
                    "read src/a.py": "allow",
                    "bash git status": "allow",
                    "bash git push": "deny",
                    "bash make": "ask",
                    "edit vendor/lib.c": "deny",
                    "edit src/a.py": "ask",
                    "webfetch *": "deny",
                    "task explore": "allow",
                    "task general": "ask",
                }
            }
        },
    ),
    Shape(
        "second_form_agent_permissions",
        {
            "opencode.json": """\
{
  "permissions": [{"action": "shell", "resource": "*", "effect": "deny"}],
  "agents": {
    "tester": {
      "description": "Runs the tests, nothing else",
      "mode": "subagent",
      "hidden": true,
      "permissions": [
        {"action": "shell", "resource": "pytest *", "effect": "allow"},
        {"action": "edit", "resource": "*", "effect": "deny"},
        {"action": "edit", "resource": "tests/*", "effect": "allow"}
      ]
    }
  }
}
"""
        },
        {
            "tester": {
                "description": "Runs the tests, nothing else",
                "mode": "subagent",
                "hidden": True,
                "verdicts": {
                    "bash pytest": "allow",
                    "bash pytest -x tests": "allow",
                    "bash curl x": "deny",
                    "edit src/a.py": "deny",
                    "edit tests/test_a.py": "allow",
                },
            },
            "build": {"verdicts": {"bash pytest": "deny"}},
        },
    ),
    Shape(
        "second_form_later_rule_undoes_earlier",
        {
            "opencode.json": """\
{
  "permissions": [
    {"action": "shell", "resource": "docker *", "effect": "deny"},
    {"action": "shell", "resource": "*", "effect": "allow"},
    {"action": "shell", "resource": "sudo *", "effect": "deny"}
  ]
}
"""
        },
        {"build": {"verdicts": {"bash docker ps": "allow", "bash sudo reboot": "deny"}}},
    ),
    Shape(
        "second_form_commands",
        {
            "opencode.json": """\
{
  "commands": {
    "triage": {"template": "Read the issue $1 and say which module it belongs to.", "description": "Sort an issue"}
  }
}
"""
        },
        settings={"commands.triage.template": "Read the issue $1 and say which module it belongs to."},
    ),
    Shape(
        "both_forms_in_one_file",
        {
            "opencode.json": """\
{
  "agent": {"first": {"description": "From the first form", "prompt": "One."}},
  "agents": {"second": {"description": "From the second form", "system": "Two."}}
}
"""
        },
        {
            "first": {"description": "From the first form", "prompt": "One."},
            "second": {"description": "From the second form", "prompt": "Two."},
        },
    ),
    Shape(
        "steps_negative",
        {"opencode.json": '{"agent": {"digger": {"description": "Digs", "steps": -3}}}'},
        problems=("digger", "steps", "-3"),
    ),
    Shape(
        "steps_fractional",
        {"opencode.json": '{"agent": {"digger": {"description": "Digs", "steps": 7.5}}}'},
        problems=("digger", "steps", "7.5"),
    ),
    Shape(
        "steps_text",
        {"opencode.json": '{"agent": {"digger": {"description": "Digs", "steps": "ten"}}}'},
        problems=("digger", "steps", "ten"),
    ),
    Shape(
        "steps_boolean",
        {"opencode.json": '{"agents": {"digger": {"description": "Digs", "steps": true}}}'},
        problems=("digger", "steps"),
    ),
    Shape(
        "max_steps_zero",
        {"opencode.json": '{"agent": {"digger": {"description": "Digs", "maxSteps": 0}}}'},
        problems=("digger", "steps = 0"),
    ),
    Shape(
        "two_spellings_differ",
        {"opencode.json": '{"agent": {"digger": {"description": "Digs", "steps": 5, "maxSteps": 50}}}'},
        problems=("digger", "steps"),
    ),
    Shape(
        "unknown_package",
        {
            "opencode.json": """\
{
  "provider": {
    "homegrown": {
      "npm": "@acme/llm-bridge",
      "options": {"baseURL": "https://bridge.acme.example/v2"},
      "models": {"m1": {"name": "Model One"}}
    }
  }
}
"""
        },
        problems=("homegrown", "@acme/llm-bridge"),
    ),
    Shape(
        "unknown_permission_word",
        {"opencode.json": '{"permission": {"bash": {"*": "ask", "rm *": "never"}}}'},
        problems=("never",),
    ),
    Shape(
        "unknown_permission_word_of_an_agent",
        {"opencode.json": '{"agent": {"clerk": {"description": "Files", "permission": {"edit": "maybe"}}}}'},
        problems=("clerk", "maybe"),
    ),
    Shape(
        "unknown_effect",
        {"opencode.json": '{"permissions": [{"action": "shell", "resource": "*", "effect": "permit"}]}'},
        problems=("permit",),
    ),
    Shape(
        "agent_is_a_text",
        {"opencode.json": '{"agent": {"poet": "You write in rhyme."}}'},
        problems=("poet",),
    ),
    Shape(
        "agent_is_a_list",
        {"opencode.json": '{"agents": {"crowd": [{"system": "a"}, {"system": "b"}]}}'},
        problems=("crowd",),
    ),
    Shape(
        "unknown_mode",
        {"opencode.json": '{"agent": {"ghost": {"description": "Haunts", "mode": "background"}}}'},
        problems=("ghost", "background"),
    ),
    Shape(
        "temperature_is_text",
        {"opencode.json": '{"agent": {"ghost": {"description": "Haunts", "temperature": "warm"}}}'},
        problems=("ghost", "temperature"),
    ),
    Shape(
        "broken_json",
        {"opencode.json": '{\n  "model": "openai/gpt-5.1",\n  "agent": {\n    "half": {"description": "Cut off\n'},
        problems=("opencode.json",),
    ),
    Shape(
        "not_an_object",
        {"opencode.json": '["openai/gpt-5.1"]\n'},
        problems=("opencode.json",),
    ),
    Shape(
        "environment_in_a_description",
        {"opencode.json": '{"agent": {"floating": {"description": "Uses {env:NOWHERE_SET} text", "steps": 6}}}'},
        {"floating": {"steps": 6}},
    ),
]


OPENCODE_AGENTS = [
    Shape(
        "plain_agent",
        {
            ".opencode/agent/reviewer.md": """\
---
description: Reads a diff and lists what could break
mode: subagent
model: anthropic/claude-sonnet-4-5
temperature: 0.1
steps: 10
---

You review changes. Sort what you find by how much it would hurt.

- wrong results first
- then races and leaks
- style last, and only if it misleads
"""
        },
        {
            "reviewer": {
                "description": "Reads a diff and lists what could break",
                "mode": "subagent",
                "model": "anthropic/claude-sonnet-4-5",
                "temperature": 0.1,
                "steps": 10,
                "prompt": (
                    "You review changes. Sort what you find by how much it would hurt.\n\n"
                    "- wrong results first\n- then races and leaks\n- style last, and only if it misleads"
                ),
            }
        },
    ),
    Shape(
        "folder_in_the_plural",
        {".opencode/agents/planner.md": "---\ndescription: Plans sprints\nmode: primary\n---\nMake a plan.\n"},
        {"planner": {"description": "Plans sprints", "mode": "primary", "prompt": "Make a plan."}},
    ),
    Shape(
        "both_folders",
        {
            ".opencode/agent/left.md": "---\ndescription: The left hand\n---\nHold.\n",
            ".opencode/agents/right.md": "---\ndescription: The right hand\n---\nHammer.\n",
        },
        {
            "left": {"description": "The left hand", "prompt": "Hold."},
            "right": {"description": "The right hand", "prompt": "Hammer."},
        },
    ),
    Shape(
        "nested_folders",
        {
            ".opencode/agent/backend/orders.md": "---\ndescription: Order service\n---\nKnows orders.\n",
            ".opencode/agent/frontend/web/forms.md": "---\ndescription: Form screens\n---\nKnows forms.\n",
            ".opencode/agents/ops/on-call.md": "---\ndescription: Night shift\nmode: all\n---\nStay calm.\n",
        },
        {
            "backend/orders": {"description": "Order service", "prompt": "Knows orders."},
            "frontend/web/forms": {"description": "Form screens", "prompt": "Knows forms."},
            "ops/on-call": {"description": "Night shift", "mode": "all", "prompt": "Stay calm."},
        },
    ),
    Shape(
        "older_mode_folder",
        {
            ".opencode/mode/teach.md": """\
---
model: openai/gpt-5.1
tools:
  bash: false
---
Do not write the code for me. Ask what I would try next.
"""
        },
        {
            "teach": {
                "mode": "primary",
                "model": "openai/gpt-5.1",
                "off": ["bash"],
                "prompt": "Do not write the code for me. Ask what I would try next.",
            }
        },
    ),
    Shape(
        "description_with_colon",
        {
            ".opencode/agent/migrations.md": """\
---
description: Writes database migrations: forward, backward, and a dry run
mode: subagent
steps: 15
---
One migration per change.
"""
        },
        {
            "migrations": {
                "description": "Writes database migrations: forward, backward, and a dry run",
                "mode": "subagent",
                "steps": 15,
                "prompt": "One migration per change.",
            }
        },
    ),
    Shape(
        "description_with_colon_and_a_table",
        {
            ".opencode/agent/ci.md": """\
---
description: Use when CI is red: reads logs, finds the first failure
mode: subagent
permission:
  edit: deny
  bash:
    "*": deny
    "gh run *": allow
---
Only the first failure counts.
"""
        },
        {
            "ci": {
                "description": "Use when CI is red: reads logs, finds the first failure",
                "mode": "subagent",
                "prompt": "Only the first failure counts.",
                "verdicts": {"edit src/a.py": "deny", "bash gh run view 7": "allow", "bash rm x": "deny"},
            }
        },
    ),
    Shape(
        "literal_block",
        {
            ".opencode/agent/api.md": """\
---
description: |
  Designs HTTP interfaces.
  Use it before: a new endpoint, a new field.
mode: subagent
---
Nouns in paths, verbs in methods.
"""
        },
        {
            "api": {
                "description": "Designs HTTP interfaces.\nUse it before: a new endpoint, a new field.",
                "mode": "subagent",
                "prompt": "Nouns in paths, verbs in methods.",
            }
        },
    ),
    Shape(
        "folded_block",
        {
            ".opencode/agent/a11y.md": """\
---
description: >-
  Checks pages with a screen reader in mind
  and says what a keyboard cannot reach.
color: "#22c55e"
---
Begin with the headings.
"""
        },
        {
            "a11y": {
                "description": ("Checks pages with a screen reader in mind and says what a keyboard cannot reach."),
                "color": "#22c55e",
                "prompt": "Begin with the headings.",
            }
        },
    ),
    Shape(
        "quoted_texts",
        {
            ".opencode/agent/quotes.md": """\
---
description: "Says \\"no\\": politely, with a reason"
model: 'openai/gpt-5-mini'
mode: "all"
color: '#fff'
---
It's fine to say "no".
"""
        },
        {
            "quotes": {
                "description": 'Says "no": politely, with a reason',
                "model": "openai/gpt-5-mini",
                "mode": "all",
                "color": "#fff",
                "prompt": 'It\'s fine to say "no".',
            }
        },
    ),
    Shape(
        "single_quotes_doubled",
        {".opencode/agent/apos.md": "---\ndescription: 'Doesn''t touch: vendored code'\n---\nLeave vendor/ alone.\n"},
        {"apos": {"description": "Doesn't touch: vendored code", "prompt": "Leave vendor/ alone."}},
    ),
    Shape(
        "no_frontmatter",
        {
            ".opencode/agent/bare.md": """\
# Bare

You are asked about build scripts only.

Answer with a patch.
"""
        },
        {"bare": {"prompt": "# Bare\n\nYou are asked about build scripts only.\n\nAnswer with a patch."}},
    ),
    Shape(
        "no_frontmatter_but_a_rule_further_down",
        {".opencode/agent/ruled.md": "Part one.\n\n---\n\nsteps: 99\n\n---\n\nPart two.\n"},
        {"ruled": {"prompt": "Part one.\n\n---\n\nsteps: 99\n\n---\n\nPart two."}},
    ),
    Shape(
        "empty_body",
        {".opencode/agent/hollow.md": "---\ndescription: A model and nothing to say\nmodel: openai/gpt-5.1\n---\n"},
        {"hollow": {"description": "A model and nothing to say", "model": "openai/gpt-5.1"}},
    ),
    Shape(
        "empty_body_without_last_newline",
        {".opencode/agent/hollow.md": "---\ndescription: Ends with the dashes\nsteps: 2\n---"},
        {"hollow": {"description": "Ends with the dashes", "steps": 2}},
    ),
    Shape(
        "empty_frontmatter",
        {".opencode/agent/blank-head.md": "---\n---\nNothing was set above.\n"},
        {"blank-head": {"prompt": "Nothing was set above."}},
    ),
    Shape(
        "crlf",
        {
            ".opencode/agent/windows.md": (
                "---\r\ndescription: Edited on Windows\r\nmode: subagent\r\nsteps: 11\r\n---\r\nOne line only.\r\n"
            )
        },
        {"windows": {"description": "Edited on Windows", "mode": "subagent", "steps": 11, "prompt": "One line only."}},
    ),
    Shape(
        "byte_order_mark",
        {".opencode/agent/marked.md": "\ufeff---\ndescription: Starts with a mark\nsteps: 3\n---\nGo on.\n"},
        {"marked": {"description": "Starts with a mark", "steps": 3, "prompt": "Go on."}},
    ),
    Shape(
        "byte_order_mark_and_crlf",
        {".opencode/agent/marked.md": "\ufeff---\r\ndescription: Both at once\r\nhidden: true\r\n---\r\nGo on.\r\n"},
        {"marked": {"description": "Both at once", "hidden": True, "prompt": "Go on."}},
    ),
    Shape(
        "rules_inside_the_body",
        {
            ".opencode/agent/sections.md": """\
---
description: Long text in sections
steps: 20
---
## Before

Look around.

---

## After

Clean up.

---
"""
        },
        {
            "sections": {
                "description": "Long text in sections",
                "steps": 20,
                "prompt": "## Before\n\nLook around.\n\n---\n\n## After\n\nClean up.\n\n---",
            }
        },
    ),
    Shape(
        "frontmatter_example_in_the_body",
        {
            ".opencode/agent/agent-maker.md": """\
---
description: Makes other agents
mode: subagent
---
Write files like this:

```markdown
---
description: What it is for
steps: 5
---
Its prompt.
```
"""
        },
        {
            "agent-maker": {
                "description": "Makes other agents",
                "mode": "subagent",
                "prompt": (
                    "Write files like this:\n\n```markdown\n---\ndescription: What it is for\nsteps: 5\n---\n"
                    "Its prompt.\n```"
                ),
            }
        },
    ),
    Shape(
        "tabs_in_the_body",
        {
            ".opencode/agent/make.md": (
                "---\ndescription: Knows Makefiles\n---\nRecipes begin with a tab:\n\n\tcc -o x x.c\n\ttest -x x\n"
            )
        },
        {
            "make": {
                "description": "Knows Makefiles",
                "prompt": "Recipes begin with a tab:\n\n\tcc -o x x.c\n\ttest -x x",
            }
        },
    ),
    Shape(
        "spaces_after_everything",
        {".opencode/agent/sloppy.md": "---   \ndescription:   Padded out  \nsteps:  6  \n---  \n\n\n  Hello.  \n\n\n"},
        {"sloppy": {"description": "Padded out", "steps": 6, "prompt": "Hello."}},
    ),
    Shape(
        "tab_after_the_colon",
        {".opencode/agent/tabbed.md": "---\ndescription:\tAfter a tab\nmode:\tsubagent\n---\nHello.\n"},
        {"tabbed": {"description": "After a tab", "mode": "subagent", "prompt": "Hello."}},
    ),
    Shape(
        "comments",
        {
            ".opencode/agent/annotated.md": """\
---
# Asked for by the data team.
description: Looks at notebooks   # shown in the list
mode: subagent
# model: openai/gpt-5.1
model: openai/gpt-5-mini
steps: 9 # 20 was too many
---
# This is a heading and no comment
"""
        },
        {
            "annotated": {
                "description": "Looks at notebooks",
                "mode": "subagent",
                "model": "openai/gpt-5-mini",
                "steps": 9,
                "prompt": "# This is a heading and no comment",
            }
        },
    ),
    Shape(
        "colour_without_quotes_is_a_comment",
        {".opencode/agent/grey.md": "---\ndescription: Has lost its colour\ncolor: #808080\nsteps: 4\n---\nHm.\n"},
        {"grey": {"description": "Has lost its colour", "steps": 4, "prompt": "Hm."}},
    ),
    Shape(
        "permission_globs",
        {
            ".opencode/agent/release.md": """\
---
description: Cuts releases
mode: primary
permission:
  edit:
    "*": deny
    "CHANGELOG.md": allow
    "packages/*/package.json": ask
  bash:
    "*": ask
    "git tag *": allow
    "git push --tags": allow
    "git push * --force": deny
  webfetch: deny
---
Tag, push, announce.
"""
        },
        {
            "release": {
                "description": "Cuts releases",
                "mode": "primary",
                "prompt": "Tag, push, announce.",
                "verdicts": {
                    "edit src/a.py": "deny",
                    "edit CHANGELOG.md": "allow",
                    "edit packages/core/package.json": "ask",
                    "bash git tag v2": "allow",
                    "bash git push --tags": "allow",
                    "bash git push origin --force": "deny",
                    "bash npm ci": "ask",
                    "webfetch *": "deny",
                },
            }
        },
    ),
    Shape(
        "permission_globs_without_quotes",
        {
            ".opencode/agent/docs.md": """\
---
description: Keeps the handbook in order
permission:
  edit:
    src/*: deny
    docs/*.md: allow
  bash: deny
---
Only the handbook.
"""
        },
        {
            "docs": {
                "description": "Keeps the handbook in order",
                "prompt": "Only the handbook.",
                "verdicts": {"edit src/a.py": "deny", "edit docs/start.md": "allow", "bash ls": "deny"},
            }
        },
    ),
    Shape(
        "permission_star_without_quotes",
        {".opencode/agent/star.md": "---\ndescription: Bare star\npermission:\n  bash:\n    *: deny\n---\nNo shell.\n"},
        problems=("star.md",),
    ),
    Shape(
        "permission_inline",
        {
            ".opencode/agent/inline.md": """\
---
description: All in one line
permission: { edit: deny, bash: { "*": deny, "cargo check *": allow }, webfetch: ask }
---
Check, do not change.
"""
        },
        {
            "inline": {
                "description": "All in one line",
                "prompt": "Check, do not change.",
                "verdicts": {
                    "edit src/lib.rs": "deny",
                    "bash cargo check": "allow",
                    "bash cargo build": "deny",
                    "webfetch *": "ask",
                },
            }
        },
    ),
    Shape(
        "permission_word",
        {".opencode/agent/locked.md": "---\ndescription: May do nothing\npermission: deny\n---\nJust think.\n"},
        {
            "locked": {
                "description": "May do nothing",
                "prompt": "Just think.",
                "verdicts": {"edit src/a.py": "deny", "bash ls": "deny", "webfetch *": "deny"},
            }
        },
    ),
    Shape(
        "second_form_permission_list",
        {
            ".opencode/agents/sweeper.md": """\
---
description: Deletes dead code
mode: subagent
permissions:
  - action: shell
    resource: "*"
    effect: deny
  - { action: shell, resource: "git grep *", effect: allow }
  - action: edit
    resource: "src/legacy/*"
    effect: allow
---
If nothing refers to it, it goes.
"""
        },
        {
            "sweeper": {
                "description": "Deletes dead code",
                "mode": "subagent",
                "prompt": "If nothing refers to it, it goes.",
                "verdicts": {
                    "bash git grep main": "allow",
                    "bash rm x": "deny",
                    "edit src/legacy/old.py": "allow",
                },
            }
        },
    ),
    Shape(
        "tools_table",
        {
            ".opencode/agent/looker.md": """\
---
description: Looks, never touches
mode: subagent
tools:
  write: false
  edit: false
  bash: false
  read: true
  grep: true
---
Tell me where it is.
"""
        },
        {
            "looker": {
                "description": "Looks, never touches",
                "mode": "subagent",
                "off": ["bash", "edit", "write"],
                "prompt": "Tell me where it is.",
            }
        },
    ),
    Shape(
        "tools_list",
        {
            ".opencode/agent/few.md": """\
---
description: Has three tools
tools:
  - read
  - grep
  - glob
---
That is enough.
"""
        },
        {"few": {"description": "Has three tools", "offers": ["glob", "grep", "read"], "prompt": "That is enough."}},
    ),
    Shape(
        "tools_inline_list",
        {".opencode/agent/fewer.md": "---\ndescription: Has two tools\ntools: [read, list]\n---\nLook.\n"},
        {"fewer": {"description": "Has two tools", "offers": ["list", "read"], "prompt": "Look."}},
    ),
    Shape(
        "every_key",
        {
            ".opencode/agent/complete.md": """\
---
description: Sets whatever can be set
mode: all
model: openai/gpt-5.1
variant: high
temperature: 0.55
top_p: 0.8
hidden: true
color: info
steps: 33
disable: false
options:
  store: false
permission:
  webfetch: allow
tools:
  todowrite: false
---
Complete.
"""
        },
        {
            "complete": {
                "description": "Sets whatever can be set",
                "mode": "all",
                "model": "openai/gpt-5.1",
                "variant": "high",
                "temperature": 0.55,
                "top_p": 0.8,
                "hidden": True,
                "color": "info",
                "steps": 33,
                "off": ["todowrite"],
                "prompt": "Complete.",
                "verdicts": {"webfetch *": "allow"},
            }
        },
    ),
    Shape(
        "model_with_variant",
        {
            ".opencode/agents/deep.md": """\
---
description: Thinks long
model: "anthropic/claude-opus-4-5#max"
---
Take your time.
"""
        },
        {
            "deep": {
                "description": "Thinks long",
                "model": "anthropic/claude-opus-4-5",
                "variant": "max",
                "prompt": "Take your time.",
            }
        },
    ),
    Shape(
        "disabled",
        {
            ".opencode/agent/asleep.md": "---\ndescription: Not now\ndisable: true\n---\nZzz.\n",
            ".opencode/agents/gone.md": "---\ndescription: Not any more\ndisabled: true\n---\nZzz.\n",
        },
        {"asleep": {"disabled": True}, "gone": {"disabled": True}},
    ),
    Shape(
        "over_a_built_in_one",
        {".opencode/agent/build.md": "---\nmodel: openai/gpt-5.1-codex\nsteps: 80\n---\nYou build the firmware.\n"},
        {"build": {"model": "openai/gpt-5.1-codex", "steps": 80, "prompt": "You build the firmware."}},
    ),
    Shape(
        "max_steps_spelling",
        {".opencode/agent/older.md": "---\ndescription: Older spelling\nmaxSteps: 7\n---\nGo.\n"},
        {"older": {"description": "Older spelling", "steps": 7, "prompt": "Go."}},
    ),
    Shape(
        "steps_zero",
        {".opencode/agent/talker.md": "---\ndescription: Only talks\nsteps: 0\n---\nListen first.\n"},
        {"talker": {"description": "Only talks", "steps": 0, "prompt": "Listen first."}},
    ),
    Shape(
        "steps_empty_means_unset",
        {".opencode/agent/unset.md": "---\ndescription: Left open\nsteps:\nmodel: ~\n---\nGo.\n"},
        {"unset": {"description": "Left open", "prompt": "Go."}},
    ),
    Shape(
        "steps_are_text",
        {".opencode/agent/texty.md": '---\ndescription: Quoted number\nsteps: "5"\n---\nGo.\n'},
        problems=("texty", "steps"),
    ),
    Shape(
        "steps_yes",
        {".opencode/agent/agreeable.md": "---\ndescription: Agrees\nsteps: yes\n---\nGo.\n"},
        problems=("agreeable", "steps"),
    ),
    Shape(
        "steps_fractional",
        {".opencode/agent/halves.md": "---\ndescription: Half a step\nsteps: 2.5\n---\nGo.\n"},
        problems=("halves", "steps", "2.5"),
    ),
    Shape(
        "steps_negative",
        {".opencode/agent/backwards.md": "---\ndescription: Walks back\nsteps: -1\n---\nGo.\n"},
        problems=("backwards", "steps", "-1"),
    ),
    Shape(
        "max_steps_zero",
        {".opencode/agent/nil.md": "---\ndescription: Meant no limit\nmaxSteps: 0\n---\nGo.\n"},
        problems=("nil", "steps = 0"),
    ),
    Shape(
        "temperature_is_text",
        {".opencode/agent/tepid.md": '---\ndescription: Quoted\ntemperature: "0.7"\n---\nGo.\n'},
        problems=("tepid", "temperature"),
    ),
    Shape(
        "duplicate_key",
        {
            ".opencode/agent/twice.md": """\
---
description: Said twice
steps: 5
mode: subagent
steps: 50
---
Which one is it?
"""
        },
        problems=("twice", "steps"),
    ),
    Shape(
        "duplicate_key_within_a_table",
        {
            ".opencode/agent/twice-below.md": """\
---
description: Said twice further in
permission:
  webfetch: deny
  bash: ask
  webfetch: allow
---
Which one is it?
"""
        },
        problems=("twice-below", "webfetch"),
    ),
    Shape(
        "anchors_and_aliases",
        {
            ".opencode/agent/linked.md": """\
---
description: Saves some typing
permission:
  bash: &careful
    "*": ask
    "rm *": deny
  edit: *careful
---
Careful.
"""
        },
        problems=("linked", "alias"),
    ),
    Shape(
        "frontmatter_never_ends",
        {".opencode/agent/endless.md": "---\ndescription: Somebody forgot the dashes\nsteps: 4\n\nYou do things.\n"},
        problems=("endless",),
    ),
    Shape(
        "frontmatter_is_a_list",
        {".opencode/agent/listed.md": "---\n- description\n- steps\n---\nGo.\n"},
        problems=("listed",),
    ),
    Shape(
        "unknown_mode",
        {".opencode/agent/moody.md": "---\ndescription: In a mood\nmode: secondary\n---\nGo.\n"},
        problems=("moody", "secondary"),
    ),
    Shape(
        "unknown_permission_word",
        {".opencode/agent/unsure.md": "---\ndescription: Unsure\npermission:\n  bash: sometimes\n---\nGo.\n"},
        problems=("unsure", "sometimes"),
    ),
    Shape(
        "unknown_keys",
        {
            ".opencode/agent/extra.md": """\
---
description: Has keys of its own
reasoningEffort: medium
owner: platform-team
tags: [infra, internal]
steps: 12
---
Go.
"""
        },
        {"extra": {"description": "Has keys of its own", "steps": 12, "prompt": "Go."}},
    ),
    Shape(
        "other_letters",
        {
            ".opencode/agent/переводчик.md": """\
---
description: Переводит строки интерфейса — без кальки
mode: subagent
---
Пиши коротко. Кавычки — «ёлочки». 🌲
"""
        },
        {
            "переводчик": {
                "description": "Переводит строки интерфейса — без кальки",
                "mode": "subagent",
                "prompt": "Пиши коротко. Кавычки — «ёлочки». 🌲",
            }
        },
    ),
    Shape(
        "long_prompt",
        {
            ".opencode/agent/verbose.md": "---\ndescription: Has much to say\nsteps: 40\n---\n"
            + "".join(f"{number}. Check the rule number {number} of the handbook.\n" for number in range(1, 801))
        },
        {
            "verbose": {
                "description": "Has much to say",
                "steps": 40,
                "prompt": "\n".join(
                    f"{number}. Check the rule number {number} of the handbook." for number in range(1, 801)
                ),
            }
        },
    ),
    Shape(
        "other_files_in_the_folder",
        {
            ".opencode/agent/real.md": "---\ndescription: The only one\n---\nYes.\n",
            ".opencode/agent/notes.txt": "---\ndescription: Not an agent\n---\nNo.\n",
            ".opencode/agent/backup.md.bak": "---\ndescription: Not one either\n---\nNo.\n",
        },
        {
            "real": {"description": "The only one", "prompt": "Yes."},
            "notes": {"disabled": True},
            "backup": {"disabled": True},
        },
    ),
    Shape(
        "file_beside_json",
        {
            "opencode.json": '{"agent": {"mixed": {"model": "openai/gpt-5.1", "steps": 8}}}',
            ".opencode/agent/mixed.md": "---\ndescription: From the file\nsteps: 16\n---\nFrom both.\n",
        },
        {"mixed": {"description": "From the file", "model": "openai/gpt-5.1", "steps": 16, "prompt": "From both."}},
    ),
    Shape(
        "one_bad_file_spoils_no_other",
        {
            ".opencode/agent/good.md": "---\ndescription: In order\nsteps: 3\n---\nFine.\n",
            ".opencode/agent/bad.md": "---\ndescription: Broken\npermission: {bash: deny\n---\nOops.\n",
        },
        {"good": {"description": "In order", "steps": 3, "prompt": "Fine."}},
        problems=("bad.md",),
    ),
]


CLAUDE_AGENTS = [
    Shape(
        "smallest",
        {
            ".claude/agents/namer.md": """\
---
name: namer
description: Finds better names
---

Suggest three names and say which you would take.
"""
        },
        {
            "namer": {
                "description": "Finds better names",
                "mode": "all",
                "prompt": "Suggest three names and say which you would take.",
            }
        },
    ),
    Shape(
        "tools_as_text",
        {
            ".claude/agents/scout.md": """\
---
name: scout
description: Finds where things are done
tools: Read, Grep, Glob, LS
model: haiku
---
Report paths and line numbers.
"""
        },
        {
            "scout": {
                "description": "Finds where things are done",
                "mode": "all",
                "model": "haiku",
                "offers": ["glob", "grep", "list", "read"],
                "prompt": "Report paths and line numbers.",
            }
        },
    ),
    Shape(
        "tools_as_list",
        {
            ".claude/agents/fixer.md": """\
---
name: fixer
description: Makes failing tests pass
tools:
  - Read
  - Edit
  - Bash
model: sonnet
---
Change the code, never the test.
"""
        },
        {
            "fixer": {
                "description": "Makes failing tests pass",
                "model": "sonnet",
                "offers": ["bash", "edit", "read"],
                "prompt": "Change the code, never the test.",
            }
        },
    ),
    Shape(
        "tools_inline_list",
        {".claude/agents/poet.md": '---\nname: poet\ndescription: Writes\ntools: ["Read", "Write"]\n---\nIn rhyme.\n'},
        {"poet": {"description": "Writes", "offers": ["read", "write"], "prompt": "In rhyme."}},
    ),
    Shape(
        "tools_without_spaces",
        {".claude/agents/dense.md": "---\nname: dense\ndescription: No blanks\ntools: Read,Grep,Bash\n---\nGo.\n"},
        {"dense": {"description": "No blanks", "offers": ["bash", "grep", "read"], "prompt": "Go."}},
    ),
    Shape(
        "every_builtin_tool",
        {
            ".claude/agents/all-hands.md": """\
---
name: all-hands
description: Lists everything there is
tools: Read, Write, Edit, MultiEdit, NotebookEdit, Bash, Grep, Glob, LS, WebFetch, WebSearch, TodoWrite, Task, Skill
---
Use what fits.
"""
        },
        {
            "all-hands": {
                "description": "Lists everything there is",
                "offers": [
                    "bash",
                    "edit",
                    "glob",
                    "grep",
                    "list",
                    "read",
                    "skill",
                    "task",
                    "todowrite",
                    "webfetch",
                    "write",
                ],
                "prompt": "Use what fits.",
            }
        },
    ),
    Shape(
        "agent_and_question",
        {
            ".claude/agents/host.md": """\
---
name: host
description: Asks people and hands work on
tools: Agent, AskUserQuestion, Read
---
Ask before you assume.
"""
        },
        {
            "host": {
                "description": "Asks people and hands work on",
                "offers": ["question", "read", "task"],
                "prompt": "Ask before you assume.",
            }
        },
    ),
    Shape(
        "three_names_for_edit",
        {
            ".claude/agents/scribe.md": """\
---
name: scribe
description: Edits in every way
tools: Edit, MultiEdit, NotebookEdit
---
Write it down.
"""
        },
        {"scribe": {"description": "Edits in every way", "offers": ["edit"], "prompt": "Write it down."}},
    ),
    Shape(
        "server_tools",
        {
            ".claude/agents/tickets.md": """\
---
name: tickets
description: Works on the ticket board
tools: Read, mcp__board__find_issue, mcp__board__add_comment
---
Never close a ticket.
"""
        },
        {
            "tickets": {
                "description": "Works on the ticket board",
                "offers": ["board_add_comment", "board_find_issue", "read"],
                "prompt": "Never close a ticket.",
            }
        },
    ),
    Shape(
        "only_a_search",
        {".claude/agents/surfer.md": "---\nname: surfer\ndescription: Searches\ntools: WebSearch\n---\nSearch.\n"},
        {"surfer": {"description": "Searches", "offers": [], "prompt": "Search."}},
    ),
    Shape(
        "search_and_fetch",
        {
            ".claude/agents/librarian.md": """\
---
name: librarian
description: Looks things up outside
tools: WebSearch, WebFetch, Read
---
Quote where you found it.
"""
        },
        {
            "librarian": {
                "description": "Looks things up outside",
                "offers": ["read", "webfetch"],
                "prompt": "Quote where you found it.",
            }
        },
    ),
    Shape(
        "bash_for_git_only",
        {
            ".claude/agents/historian.md": """\
---
name: historian
description: Knows who changed what
tools: Read, Bash(git:*)
---
Use blame before you blame.
"""
        },
        {
            "historian": {
                "description": "Knows who changed what",
                "offers": ["bash", "read"],
                "verdicts": {"bash git status": "allow", "bash rm x": "deny"},
                "prompt": "Use blame before you blame.",
            }
        },
    ),
    Shape(
        "bash_for_several",
        {
            ".claude/agents/gopher.md": """\
---
name: gopher
description: Builds and vets Go code
tools: Bash(go build:*), Bash(go vet:*), Bash(git diff:*), Grep
---
Vet first.
"""
        },
        {
            "gopher": {
                "description": "Builds and vets Go code",
                "offers": ["bash", "grep"],
                "verdicts": {
                    "bash go build ./...": "allow",
                    "bash go vet": "allow",
                    "bash git diff --stat": "allow",
                    "bash git push": "deny",
                    "bash rm x": "deny",
                },
                "prompt": "Vet first.",
            }
        },
    ),
    Shape(
        "bash_pattern_in_a_list",
        {
            ".claude/agents/packer.md": """\
---
name: packer
description: Runs one script
tools:
  - Bash(npm run build:*)
  - Read
---
Only the build.
"""
        },
        {
            "packer": {
                "description": "Runs one script",
                "offers": ["bash", "read"],
                "verdicts": {"bash npm run build": "allow", "bash npm install": "deny", "bash rm x": "deny"},
                "prompt": "Only the build.",
            }
        },
    ),
    Shape(
        "disallowed_as_text",
        {
            ".claude/agents/critic.md": """\
---
name: critic
description: Says what is wrong
disallowedTools: Write, Edit
---
Words only.
"""
        },
        {"critic": {"description": "Says what is wrong", "off": ["edit", "write"], "prompt": "Words only."}},
    ),
    Shape(
        "disallowed_as_list",
        {
            ".claude/agents/offline.md": """\
---
name: offline
description: Stays at home
disallowedTools:
  - WebFetch
  - Bash
  - Task
---
No network.
"""
        },
        {"offline": {"description": "Stays at home", "off": ["bash", "task", "webfetch"], "prompt": "No network."}},
    ),
    Shape(
        "disallowed_pattern",
        {
            ".claude/agents/careful.md": """\
---
name: careful
description: Deletes nothing
disallowedTools: Bash(rm:*), Bash(git push:*)
---
Ask before you delete.
"""
        },
        {
            "careful": {
                "description": "Deletes nothing",
                "verdicts": {"bash rm x": "deny", "bash git push": "deny", "bash git push origin main": "deny"},
                "prompt": "Ask before you delete.",
            }
        },
    ),
    Shape(
        "model_opus",
        {".claude/agents/sage.md": "---\nname: sage\ndescription: Thinks\nmodel: opus\n---\nThink.\n"},
        {"sage": {"description": "Thinks", "model": "opus", "mode": "all", "prompt": "Think."}},
    ),
    Shape(
        "model_inherit",
        {".claude/agents/heir.md": "---\nname: heir\ndescription: Takes what it gets\nmodel: inherit\n---\nGo.\n"},
        {"heir": {"description": "Takes what it gets", "mode": "all", "prompt": "Go."}},
    ),
    Shape(
        "model_in_full",
        {
            ".claude/agents/exact.md": """\
---
name: exact
description: Pinned to one model
model: claude-sonnet-4-5-20250929
---
Be exact.
"""
        },
        {
            "exact": {
                "description": "Pinned to one model",
                "model": "anthropic/claude-sonnet-4-5-20250929",
                "prompt": "Be exact.",
            }
        },
    ),
    Shape(
        "max_turns",
        {".claude/agents/sprinter.md": "---\nname: sprinter\ndescription: Is quick\nmaxTurns: 6\n---\nRun.\n"},
        {"sprinter": {"description": "Is quick", "steps": 6, "prompt": "Run."}},
    ),
    Shape(
        "max_turns_zero",
        {".claude/agents/stuck.md": "---\nname: stuck\ndescription: Cannot start\nmaxTurns: 0\n---\nRun.\n"},
        problems=("stuck", "steps = 0"),
    ),
    Shape(
        "max_turns_text",
        {".claude/agents/wordy.md": "---\nname: wordy\ndescription: Counts in words\nmaxTurns: many\n---\nRun.\n"},
        problems=("wordy", "maxTurns"),
    ),
    Shape(
        "max_turns_negative",
        {".claude/agents/minus.md": "---\nname: minus\ndescription: Below nothing\nmaxTurns: -4\n---\nRun.\n"},
        problems=("minus", "maxTurns", "-4"),
    ),
    Shape(
        "bypasses_permissions",
        {
            ".claude/agents/reckless.md": """\
---
name: reckless
description: Wants to do as it likes
permissionMode: bypassPermissions
---
Ask nobody.
"""
        },
        {
            "reckless": {
                "description": "Wants to do as it likes",
                "verdicts": {"webfetch *": "ask", "external_directory /etc/passwd": "ask"},
                "prompt": "Ask nobody.",
            }
        },
        problems=("permissionMode",),
    ),
    Shape(
        "plan_mode",
        {
            ".claude/agents/drafter.md": """\
---
name: drafter
description: Draws up plans
permissionMode: plan
tools: Read, Grep, Glob
---
Write a plan with numbered steps.
"""
        },
        {
            "drafter": {
                "description": "Draws up plans",
                "verdicts": {"edit a.py": "deny"},
                "offers": ["glob", "grep", "read"],
                "prompt": "Write a plan with numbered steps.",
            }
        },
    ),
    Shape(
        "default_mode",
        {".claude/agents/usual.md": "---\nname: usual\ndescription: As usual\npermissionMode: default\n---\nGo.\n"},
        {"usual": {"description": "As usual", "verdicts": {"webfetch *": "ask"}, "prompt": "Go."}},
    ),
    Shape(
        "name_is_missing",
        {".claude/agents/css-doctor.md": "---\ndescription: Heals stylesheets\ncolor: pink\n---\nLess is more.\n"},
        {
            "css-doctor": {
                "description": "Heals stylesheets",
                "color": "pink",
                "mode": "all",
                "prompt": "Less is more.",
            }
        },
    ),
    Shape(
        "name_differs_from_the_file",
        {".claude/agents/agent-07.md": "---\nname: spy\ndescription: Watches prices\n---\nStay unseen.\n"},
        {"spy": {"description": "Watches prices", "prompt": "Stay unseen."}, "agent-07": {"disabled": True}},
    ),
    Shape(
        "examples_in_the_description",
        {
            ".claude/agents/test-writer.md": """\
---
name: test-writer
description: Use this agent after code was written and has no tests. Examples: <example>Context: A parser came. \
user: 'I added the date parser' assistant: 'I will have the test-writer cover it' </example>
tools: Read, Write, Bash
model: sonnet
color: green
---

You write tests that fail first.
"""
        },
        {
            "test-writer": {
                "description": (
                    "Use this agent after code was written and has no tests. Examples: <example>Context: A parser "
                    "came. user: 'I added the date parser' assistant: 'I will have the test-writer cover it' </example>"
                ),
                "offers": ["bash", "read", "write"],
                "model": "sonnet",
                "color": "green",
                "prompt": "You write tests that fail first.",
            }
        },
    ),
    Shape(
        "escaped_line_ends_in_the_description",
        {
            ".claude/agents/schema-keeper.md": """\
---
name: schema-keeper
description: Use this agent when a schema changes.\\n\\n<example>\\nContext: A column came.\\nuser: "Add a column"\\n\
assistant: "The schema-keeper will look at it."\\n</example>
tools: Read, Grep, mcp__postgres__query
model: inherit
color: cyan
---

You guard the schema.
"""
        },
        {
            "schema-keeper": {
                "mode": "all",
                "offers": ["grep", "postgres_query", "read"],
                "color": "cyan",
                "prompt": "You guard the schema.",
            }
        },
    ),
    Shape(
        "examples_in_a_block",
        {
            ".claude/agents/perf.md": """\
---
name: perf
description: |
  Use it when something is slow: a page, a query, a build.

  <example>
  Context: The report takes a minute.
  user: "Why is the report so slow?"
  assistant: "I'll let perf measure it."
  </example>
model: opus
---
Measure before you change anything.
"""
        },
        {
            "perf": {
                "description": (
                    "Use it when something is slow: a page, a query, a build.\n\n<example>\n"
                    'Context: The report takes a minute.\nuser: "Why is the report so slow?"\n'
                    'assistant: "I\'ll let perf measure it."\n</example>'
                ),
                "model": "opus",
                "prompt": "Measure before you change anything.",
            }
        },
    ),
    Shape(
        "description_runs_over_lines_without_a_block",
        {
            ".claude/agents/wrapped.md": """\
---
name: wrapped
description: Goes over
  two lines and
  a third
tools: Read
---
Go.
"""
        },
        {
            "wrapped": {
                "description": "Goes over two lines and a third",
                "offers": ["read"],
                "prompt": "Go.",
            }
        },
    ),
    Shape(
        "description_with_colons",
        {
            ".claude/agents/infra.md": """\
---
name: infra
description: MUST BE USED for infra: Terraform, Helm, and DNS. Note: never applies by itself
tools: Read, Grep
---
Plan only.
"""
        },
        {
            "infra": {
                "description": "MUST BE USED for infra: Terraform, Helm, and DNS. Note: never applies by itself",
                "offers": ["grep", "read"],
                "prompt": "Plan only.",
            }
        },
    ),
    Shape(
        "emoji_and_quotes",
        {
            ".claude/agents/party.md": """\
---
name: party
description: "🎉 Celebrates releases: writes the announcement 🚀"
color: purple
---
Use at most one 🎈 per paragraph.
"""
        },
        {
            "party": {
                "description": "🎉 Celebrates releases: writes the announcement 🚀",
                "color": "purple",
                "prompt": "Use at most one 🎈 per paragraph.",
            }
        },
    ),
    Shape(
        "skills_and_servers",
        {
            ".claude/agents/designer.md": """\
---
name: designer
description: Draws screens
skills: brand-colours, icon-grid
mcpServers:
  - canvas
  - shots:
      command: npx
      args: ["-y", "shots-mcp"]
memory: project
---
Stay on the grid.
"""
        },
        {"designer": {"description": "Draws screens", "prompt": "Stay on the grid."}},
    ),
    Shape(
        "hooks",
        {
            ".claude/agents/guarded.md": """\
---
name: guarded
description: Has a guard at the shell
tools: Bash, Read
hooks:
  PreToolUse:
    - matcher: "Bash"
      hooks:
        - type: command
          command: "./scripts/allowed-command"
---
The guard has the last word.
"""
        },
        {
            "guarded": {
                "description": "Has a guard at the shell",
                "offers": ["bash", "read"],
                "prompt": "The guard has the last word.",
            }
        },
    ),
    Shape(
        "effort_memory_background",
        {
            ".claude/agents/night-owl.md": """\
---
name: night-owl
description: Works while you sleep
effort: high
memory: user
background: true
isolation: worktree
maxTurns: 90
---
Leave a note in the morning.
"""
        },
        {"night-owl": {"description": "Works while you sleep", "steps": 90, "prompt": "Leave a note in the morning."}},
    ),
    Shape(
        "crlf_and_mark",
        {
            ".claude/agents/office.md": (
                "\ufeff---\r\nname: office\r\ndescription: Written in an office\r\ntools: Read, Edit\r\n---\r\n"
                "\r\nBe brief.\r\n"
            )
        },
        {"office": {"description": "Written in an office", "offers": ["edit", "read"], "prompt": "Be brief."}},
    ),
    Shape(
        "folder_below",
        {".claude/agents/web/forms.md": "---\nname: forms\ndescription: Knows forms\n---\nLabel everything.\n"},
        {"forms": {"description": "Knows forms", "prompt": "Label everything."}},
    ),
    Shape(
        "prompt_with_headings_and_rules",
        {
            ".claude/agents/incident.md": """\
---
name: incident
description: Leads through an outage
tools: Read, Bash, TodoWrite
---

# Outage

1. Stop the bleeding.
2. Write down the time.

---

## Afterwards

```yaml
---
severity: 2
---
```
"""
        },
        {
            "incident": {
                "description": "Leads through an outage",
                "offers": ["bash", "read", "todowrite"],
                "prompt": (
                    "# Outage\n\n1. Stop the bleeding.\n2. Write down the time.\n\n---\n\n## Afterwards\n\n"
                    "```yaml\n---\nseverity: 2\n---\n```"
                ),
            }
        },
    ),
    Shape(
        "many_at_once",
        {
            f".claude/agents/team-{letter}.md": (
                f"---\nname: team-{letter}\ndescription: Member {letter}\nmodel: haiku\n---\nYou are {letter}.\n"
            )
            for letter in "abcdefghijkl"
        },
        {
            f"team-{letter}": {"description": f"Member {letter}", "model": "haiku", "prompt": f"You are {letter}."}
            for letter in "abcdefghijkl"
        },
    ),
    Shape(
        "unknown_tool",
        {
            ".claude/agents/dreamer.md": """\
---
name: dreamer
description: Wishes for tools that are not there
tools: Read, Teleport, Grep
---
Dream on.
"""
        },
        {
            "dreamer": {
                "description": "Wishes for tools that are not there",
                "offers": ["grep", "read"],
                "prompt": "Dream on.",
            }
        },
    ),
    Shape(
        "names_twice",
        {
            ".claude/agents/one.md": "---\nname: echo\ndescription: The first\n---\nOne.\n",
            ".claude/agents/two.md": "---\nname: echo\ndescription: The second\n---\nTwo.\n",
        },
        problems=("echo",),
    ),
    Shape(
        "duplicate_key",
        {".claude/agents/doubled.md": "---\nname: doubled\ndescription: a\ntools: Read\ntools: Bash\n---\nGo.\n"},
        problems=("doubled", "tools"),
    ),
    Shape(
        "never_ends",
        {".claude/agents/open-end.md": "---\nname: open-end\ndescription: No second line of dashes\n\nGo on.\n"},
        problems=("open-end",),
    ),
    Shape(
        "comments_and_nulls",
        {
            ".claude/agents/sparse.md": """\
---
name: sparse  # keep in step with the wiki
# tools: Read
description: Mostly empty
tools:
model:
maxTurns: null
---
Go.
"""
        },
        {"sparse": {"description": "Mostly empty", "mode": "all", "prompt": "Go."}},
    ),
    Shape(
        "beside_an_opencode_agent",
        {
            ".claude/agents/northern.md": "---\nname: northern\ndescription: From one program\n---\nNorth.\n",
            ".opencode/agent/southern.md": "---\ndescription: From the other\nmode: subagent\n---\nSouth.\n",
        },
        {
            "northern": {"description": "From one program", "mode": "all", "prompt": "North."},
            "southern": {"description": "From the other", "mode": "subagent", "prompt": "South."},
        },
    ),
]


AGENTS_MD = [
    Shape(
        "one_agent_only",
        {
            "AGENTS.md": """\
---
name: gardener
description: Keeps the dependency tree tidy
steps: 12
---
Update one dependency at a time and run the tests after each.
"""
        },
        {
            "gardener": {
                "description": "Keeps the dependency tree tidy",
                "steps": 12,
                "prompt": "Update one dependency at a time and run the tests after each.",
            }
        },
    ),
    Shape(
        "two_agents",
        {
            "AGENTS.md": """\
---
name: refactorer
description: Small changes that keep behaviour
steps: 5
---
Rename, extract, inline. Nothing else.

---
name: architect
description: Looks at the whole
steps: 20
---
Draw the modules before you speak of them.
"""
        },
        {
            "refactorer": {
                "description": "Small changes that keep behaviour",
                "steps": 5,
                "prompt": "Rename, extract, inline. Nothing else.",
            },
            "architect": {
                "description": "Looks at the whole",
                "steps": 20,
                "prompt": "Draw the modules before you speak of them.",
            },
        },
    ),
    Shape(
        "text_before_the_first",
        {
            "AGENTS.md": """\
# Harbour

This repository schedules container ships. Times are UTC, always.

---
name: pilot
description: Brings changes safely in
mode: subagent
---
Rebase, test, merge.
"""
        },
        {"pilot": {"description": "Brings changes safely in", "mode": "subagent", "prompt": "Rebase, test, merge."}},
        instructions=("schedules container ships", "Times are UTC, always."),
    ),
    Shape(
        "rule_in_the_text_before",
        {
            "AGENTS.md": """\
# Orchard

Apples are counted in crates.

---

Pears are counted one by one.

---
name: picker
steps: 3
---
Pick only what is ripe.
"""
        },
        {"picker": {"steps": 3, "prompt": "Pick only what is ripe."}},
        instructions=("counted in crates", "counted one by one"),
    ),
    Shape(
        "rules_in_prompts",
        {
            "AGENTS.md": """\
---
name: editor
description: Cuts texts
---
First pass: cut adverbs.

---

Second pass: cut sentences.

---
name: proofreader
description: Finds typos
---
Read it backwards.

***

Then read it aloud.
"""
        },
        {
            "editor": {
                "description": "Cuts texts",
                "prompt": "First pass: cut adverbs.\n\n---\n\nSecond pass: cut sentences.",
            },
            "proofreader": {"description": "Finds typos", "prompt": "Read it backwards.\n\n***\n\nThen read it aloud."},
        },
    ),
    Shape(
        "text_that_looks_like_keys_between_rules",
        {
            "AGENTS.md": """\
---
name: clerk
description: Files things
---
Begin.

---

Note: the archive is read-only.

---

End.
"""
        },
        {
            "clerk": {
                "description": "Files things",
                "prompt": "Begin.\n\n---\n\nNote: the archive is read-only.\n\n---\n\nEnd.",
            }
        },
    ),
    Shape(
        "fence_with_a_block_inside",
        {
            "AGENTS.md": """\
---
name: generator
description: Writes agent files
---
A file looks like this:

```yaml
---
name: not-an-agent
description: Only an example
steps: 99
---
```

Keep it short.
"""
        },
        {
            "generator": {
                "description": "Writes agent files",
                "prompt": (
                    "A file looks like this:\n\n```yaml\n---\nname: not-an-agent\ndescription: Only an example\n"
                    "steps: 99\n---\n```\n\nKeep it short."
                ),
            },
            "not-an-agent": {"disabled": True},
        },
    ),
    Shape(
        "tilde_fence_with_a_block_inside",
        {
            "AGENTS.md": """\
Read this first.

~~~
---
name: sample
---
~~~

---
name: real
steps: 4
---
Do it.
"""
        },
        {"real": {"steps": 4, "prompt": "Do it."}, "sample": {"disabled": True}},
        instructions=("Read this first.",),
    ),
    Shape(
        "longer_fence_around_a_shorter_one",
        {
            "AGENTS.md": """\
---
name: tutor
description: Explains Markdown
---
````markdown
```
---
name: inner
---
```
````

---
name: pupil
description: Asks
---
Why?
"""
        },
        {
            "tutor": {
                "description": "Explains Markdown",
                "prompt": "````markdown\n```\n---\nname: inner\n---\n```\n````",
            },
            "pupil": {"description": "Asks", "prompt": "Why?"},
            "inner": {"disabled": True},
        },
    ),
    Shape(
        "fence_with_yaml_documents",
        {
            "AGENTS.md": """\
---
name: deployer
description: Knows the cluster
mode: subagent
---
Manifests go into one file:

```yaml
apiVersion: v1
kind: Service
---
apiVersion: apps/v1
kind: Deployment
---
```
"""
        },
        {
            "deployer": {
                "description": "Knows the cluster",
                "mode": "subagent",
                "prompt": (
                    "Manifests go into one file:\n\n```yaml\napiVersion: v1\nkind: Service\n---\n"
                    "apiVersion: apps/v1\nkind: Deployment\n---\n```"
                ),
            }
        },
    ),
    Shape(
        "missing_name_comes_first",
        {
            "AGENTS.md": """\
---
description: Nobody in particular
owner: tools team
---
Builds run in the container called crane.

---
name: somebody
description: Somebody in particular
---
Hello.
"""
        },
        {"somebody": {"description": "Somebody in particular", "prompt": "Hello."}},
        instructions=("container called crane",),
    ),
    Shape(
        "missing_name_in_between",
        {
            "AGENTS.md": """\
---
name: first
steps: 2
---
I am the first.

---
description: I have no name
---
I belong to the first.

---
name: last
steps: 8
---
I am the last.
"""
        },
        {
            "first": {
                "steps": 2,
                "prompt": "I am the first.\n\n---\ndescription: I have no name\n---\nI belong to the first.",
            },
            "last": {"steps": 8, "prompt": "I am the last."},
        },
    ),
    Shape(
        "duplicated_name",
        {
            "AGENTS.md": """\
---
name: twin
description: The elder
---
One.

---
name: twin
description: The younger
---
Two.
"""
        },
        problems=("AGENTS.md", "twin"),
    ),
    Shape(
        "steps_in_every_spelling",
        {
            "AGENTS.md": """\
---
name: a-steps
steps: 1
---
A.

---
name: b-max
max_steps: 2
---
B.

---
name: c-camel
maxSteps: 3
---
C.

---
name: d-turns
maxTurns: 4
---
D.
"""
        },
        {
            "a-steps": {"steps": 1, "prompt": "A."},
            "b-max": {"steps": 2, "prompt": "B."},
            "c-camel": {"steps": 3, "prompt": "C."},
            "d-turns": {"steps": 4, "prompt": "D."},
        },
    ),
    Shape(
        "steps_zero",
        {"AGENTS.md": "---\nname: listener\nsteps: 0\n---\nListen.\n"},
        {"listener": {"steps": 0, "prompt": "Listen."}},
    ),
    Shape(
        "max_steps_zero",
        {"AGENTS.md": "---\nname: frozen\nmax_steps: 0\n---\nMove.\n"},
        problems=("frozen", "steps = 0"),
    ),
    Shape(
        "spellings_differ",
        {"AGENTS.md": "---\nname: torn\nsteps: 3\nmaxTurns: 30\n---\nDecide.\n"},
        problems=("torn", "steps"),
    ),
    Shape(
        "steps_wrong_in_one_of_three",
        {
            "AGENTS.md": """\
---
name: fine
steps: 3
---
Fine.

---
name: wrong
steps: lots
---
Wrong.

---
name: also-fine
steps: 6
---
Also fine.
"""
        },
        problems=("wrong", "steps", "lots"),
    ),
    Shape(
        "thirty_agents",
        {
            "AGENTS.md": "Thirty hands make light work.\n\n"
            + "\n".join(
                f"---\nname: hand-{number:02}\ndescription: Does chore {number}\nmode: subagent\nsteps: {number}\n---\n"
                f"Chore {number} is yours.\n"
                for number in range(1, 31)
            )
        },
        {
            f"hand-{number:02}": {
                "description": f"Does chore {number}",
                "mode": "subagent",
                "steps": number,
                "prompt": f"Chore {number} is yours.",
            }
            for number in range(1, 31)
        },
        instructions=("Thirty hands make light work.",),
    ),
    Shape(
        "permissions_and_tools",
        {
            "AGENTS.md": """\
---
name: inspector
description: Looks, and runs the linter
mode: subagent
permission:
  edit: deny
  bash:
    "*": deny
    "ruff check *": allow
tools:
  webfetch: false
---
Say what the linter says, in order.

---
name: mechanic
description: Repairs what the inspector found
model: openai/gpt-5.1
temperature: 0.2
---
One finding, one commit.
"""
        },
        {
            "inspector": {
                "description": "Looks, and runs the linter",
                "mode": "subagent",
                "verdicts": {"edit src/a.py": "deny", "bash ruff check src": "allow", "bash rm x": "deny"},
                "off": ["webfetch"],
                "prompt": "Say what the linter says, in order.",
            },
            "mechanic": {
                "description": "Repairs what the inspector found",
                "model": "openai/gpt-5.1",
                "temperature": 0.2,
                "prompt": "One finding, one commit.",
            },
        },
    ),
    Shape(
        "agents_without_prompts",
        {
            "AGENTS.md": """\
---
name: cheap
model: openai/gpt-5-nano
steps: 4
---
---
name: dear
model: openai/gpt-5.1
steps: 40
---
"""
        },
        {"cheap": {"model": "openai/gpt-5-nano", "steps": 4}, "dear": {"model": "openai/gpt-5.1", "steps": 40}},
    ),
    Shape(
        "agents_crlf_and_mark",
        {
            "AGENTS.md": (
                "\ufeff---\r\nname: alpha\r\nsteps: 2\r\n---\r\nFirst.\r\n\r\n"
                "---\r\nname: beta\r\nsteps: 3\r\n---\r\nSecond.\r\n"
            )
        },
        {"alpha": {"steps": 2, "prompt": "First."}, "beta": {"steps": 3, "prompt": "Second."}},
    ),
    Shape(
        "agents_with_colons_and_letters_from_elsewhere",
        {
            "AGENTS.md": """\
---
name: prüferin
description: Prüft Beiträge: Stil, Recht, Maße
mode: subagent
---
Antworte auf Deutsch. Größe zählt nicht.

---
name: 案内
description: "案内役: 最初に読む"
---
短く答える。
"""
        },
        {
            "prüferin": {
                "description": "Prüft Beiträge: Stil, Recht, Maße",
                "mode": "subagent",
                "prompt": "Antworte auf Deutsch. Größe zählt nicht.",
            },
            "案内": {"description": "案内役: 最初に読む", "prompt": "短く答える。"},
        },
    ),
    Shape(
        "name_is_not_the_first_key",
        {
            "AGENTS.md": """\
---
# The order of keys is nobody's business.
description: >
  Puts things
  in order
steps: 7
name: sorter
---
A to Z.
"""
        },
        {"sorter": {"description": "Puts things in order", "steps": 7, "prompt": "A to Z."}},
    ),
    Shape(
        "built_in_one_tuned",
        {"AGENTS.md": "Use tabs.\n\n---\nname: architect\nsteps: 35\nmodel: openai/gpt-5.1\n---\nThink in layers.\n"},
        {"architect": {"steps": 35, "model": "openai/gpt-5.1", "prompt": "Think in layers."}},
        instructions=("Use tabs.",),
    ),
    Shape(
        "rule_right_before_a_block",
        {
            "AGENTS.md": """\
---
name: upper
steps: 1
---
Above the line.

---

---
name: lower
steps: 2
---
Below the line.
"""
        },
        {"upper": {"steps": 1}, "lower": {"steps": 2, "prompt": "Below the line."}},
    ),
    Shape(
        "disabled_agent",
        {
            "AGENTS.md": """\
---
name: awake
---
Here.

---
name: dormant
disable: true
---
Not here.
"""
        },
        {"awake": {"prompt": "Here."}, "dormant": {"disabled": True}},
    ),
    Shape(
        "alias_in_a_block",
        {
            "AGENTS.md": """\
---
name: copycat
permission:
  bash: &no deny
  edit: *no
---
Copy.
"""
        },
        problems=("AGENTS.md", "alias"),
    ),
    Shape(
        "plain_root",
        {
            "AGENTS.md": """\
# Weather station

- Python 3.12, no third-party packages in `core/`
- `make check` before each commit
- Units are metric; convert only in `views/`
"""
        },
        instructions=("Units are metric", "`make check` before each commit"),
    ),
    Shape(
        "several_folders",
        {
            "AGENTS.md": "# Monorepo\n\nEvery package has its own notes.\n",
            "packages/api/AGENTS.md": "# API\n\nHandlers stay below forty lines.\n",
            "packages/web/AGENTS.md": "# Web\n\nNo inline styles.\n",
        },
        instructions=("Every package has its own notes.",),
    ),
    Shape(
        "only_claude_md",
        {"CLAUDE.md": "# Notes for Claude\n\nThe test database is called sparrow. Never touch falcon.\n"},
        instructions=("test database is called sparrow",),
    ),
    Shape(
        "both_files",
        {
            "AGENTS.md": "# For agents\n\nIndent with four spaces.\n",
            "CLAUDE.md": "# For Claude\n\nIndent with elephants.\n",
        },
        instructions=("Indent with four spaces.",),
    ),
    Shape(
        "claude_md_below_a_root_agents_md",
        {
            "AGENTS.md": "The root speaks of bread.\n",
            "bakery/CLAUDE.md": "The folder speaks of cake.\n",
        },
        instructions=("The root speaks of bread.",),
    ),
    Shape(
        "code_fences",
        {
            "AGENTS.md": """\
# Running things

```bash
uv sync --all-extras
uv run pytest -q   # about a minute
```

```python
def answer() -> int:
    return 42
```
"""
        },
        instructions=("uv sync --all-extras", "return 42"),
    ),
    Shape(
        "tables",
        {
            "AGENTS.md": """\
# Where things are

| folder | what | who |
| --- | --- | --- |
| `engine/` | the solver | Ana |
| `panels/` | the screens | Joost |

Ask the one in the last column.
"""
        },
        instructions=("| `panels/` | the screens | Joost |", "Ask the one in the last column."),
    ),
    Shape(
        "rules_between_sections",
        {
            "AGENTS.md": """\
# Style

Short functions.

---

# Commits

Imperative mood.

---

# Releases

On Tuesdays.
"""
        },
        instructions=("Short functions.", "Imperative mood.", "On Tuesdays."),
    ),
    Shape(
        "frontmatter_without_a_name",
        {
            "AGENTS.md": """\
---
title: Handbook for agents
applyTo: "**/*.ts"
last_reviewed: 2025-11-03
---

Prefer `unknown` over `any`.
"""
        },
        instructions=("Prefer `unknown` over `any`.",),
    ),
    Shape(
        "rule_on_the_first_line",
        {"AGENTS.md": "---\n\nThe file begins with a rule.\n\n---\n\nAnd goes on after a second one.\n"},
        instructions=("The file begins with a rule.", "And goes on after a second one."),
    ),
    Shape("empty_file", {"AGENTS.md": ""}),
    Shape("blank_file", {"AGENTS.md": "\n  \n\t\n\n"}),
    Shape(
        "plain_crlf",
        {"AGENTS.md": "# Windows\r\n\r\nPaths use backslashes in scripts/.\r\n"},
        instructions=("Paths use backslashes in scripts/.",),
    ),
    Shape(
        "plain_with_mark",
        {"AGENTS.md": "\ufeff# Marked\n\nThe mark at the start is no letter.\n"},
        instructions=("The mark at the start is no letter.",),
    ),
    Shape(
        "plain_in_other_letters",
        {"AGENTS.md": "# Ohjeet\n\nKäytä sisennykseen neljää välilyöntiä. ✅\n\n注释用中文。\n"},
        instructions=("Käytä sisennykseen neljää välilyöntiä. ✅", "注释用中文。"),
    ),
    Shape(
        "very_long",
        {
            "AGENTS.md": "# The long list\n\nThe first rule: read on.\n\n"
            + "".join(f"- Rule {number}: module {number} owns table {number}.\n" for number in range(1, 1501))
        },
        instructions=("The first rule: read on.",),
    ),
    Shape(
        "settings_extract_in_a_fence",
        {
            "CLAUDE.md": """\
# Set-up

Put this at the top of every page:

```markdown
---
name: page-name
layout: wide
---
```

Then run `hugo server`.
"""
        },
        {"page-name": {"disabled": True}},
        instructions=("Then run `hugo server`.",),
    ),
    Shape(
        "claude_md_with_block_like_text",
        {"CLAUDE.md": "Deploys happen at noon.\n\n---\n\nStatus: green.\n\n---\n\nRollbacks happen at once.\n"},
        instructions=("Deploys happen at noon.", "Rollbacks happen at once."),
    ),
    Shape(
        "no_last_newline",
        {"AGENTS.md": "Write British English in messages"},
        instructions=("Write British English in messages",),
    ),
    Shape(
        "markup_and_references",
        {
            "AGENTS.md": """\
<!-- Kept by the platform team. -->
# Rules <a id="rules"></a>

See @docs/testing.md and [the guide](./docs/guide.md).

<important>
Never commit to `main` & never force-push.
</important>
""",
            "docs/testing.md": "Tests run in random order.\n",
        },
        instructions=("Never commit to `main` & never force-push.",),
    ),
    Shape(
        "plain_beside_agent_files",
        {
            "AGENTS.md": "Log lines are in lower case.\n",
            ".opencode/agent/logger.md": "---\ndescription: Improves log lines\nsteps: 5\n---\nNo exclamation marks.\n",
        },
        {"logger": {"description": "Improves log lines", "steps": 5, "prompt": "No exclamation marks."}},
        instructions=("Log lines are in lower case.",),
    ),
    Shape(
        "setext_headings",
        {
            "AGENTS.md": """\
Project rules
---

name: this line is only text

Another heading
---

Use feature flags for anything that a customer sees.
"""
        },
        {"this line is only text": {"disabled": True}},
        instructions=("Use feature flags for anything that a customer sees.",),
    ),
]
