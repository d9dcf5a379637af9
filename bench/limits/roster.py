"""Who is compared: how each is spoken to, by which of its own settings a limit is set, and what it does not offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.contender import Contender
from bench.limits.rows import Row, Setting
from bench.limits.server import Speech


@dataclass
class Compared(Contender):
    """A contender with its own words for what the rows ask."""

    speech: Speech = field(default_factory=Speech)
    offers: Mapping[Setting, str] = field(default_factory=dict)
    """The setting of its own that is used."""
    lacks: Mapping[Setting, str] = field(default_factory=dict)
    """What was looked for, and not found."""

    def missing(self, row: Row) -> str:
        """What this row needs and the contender does not offer, or nothing."""
        return next((self.lacks[need] for need in row.needs if need in self.lacks), "")


TASK = {"delegate": "task", "delegate_argument": "prompt"}
TASK_MORE = (("description", "work"), ("subagent_type", "child"))
NO_LOOPS = "no detector of repeated calls"
NO_COMPACTION = "no compaction against a window"

BRIDLE = Compared(
    "Bridle",
    "bridle.limit",
    speech=Speech(**TASK, delegate_more=TASK_MORE),
    offers={
        "steps": "`Agent(steps=)`",
        "tool_calls": "`Limits(tool_calls=)`",
        "subagents": "`Agent(subagents=)`, each with its `steps`",
        "tree": "`TreeLimits(steps=)`",
        "loops": "on by default; no user can be asked",
        "compaction": "on by default; the window is the model's",
        "resume": "`Agent(journal=)`, `Runtime.resume`",
        "tokens": "`Limits(tokens=)`",
        "cost": "`Limits(cost=)`, with a `Price`",
        "seconds": "`Limits(seconds=)`",
    },
)

OPENCODE = Compared(
    "OpenCode",
    "opencode.limit",
    speech=Speech("bash", "command", "./act ", **TASK, delegate_more=TASK_MORE),
    offers={
        "steps": "`agent.build.steps` in opencode.json",
        "subagents": "an agent of mode `subagent` with its `steps`",
        "loops": "its permission `doom_loop`, at its default; no user can be asked",
        "compaction": "on by default; the window is `limit.context` of the model",
        "resume": "`opencode run --continue continue`",
    },
    lacks={
        "steps 0": "`steps` must be above 0",
        "tool_calls": "no budget of calls: `steps`, `permission` and `experimental` were checked",
        "tree": "`steps` counts each session alone; `subagent_depth` limits the depth",
        "tokens": "no budget of tokens in opencode.json",
        "cost": "no budget of cost in opencode.json; it is only shown",
        "seconds": "no budget of time in opencode.json; `timeout` limits one request",
    },
)

AGNO = Compared(
    "agno",
    "agno.limit",
    needs=("agno", "openai", "sqlalchemy[asyncio]", "aiosqlite"),
    offers={
        "tool_calls": "`Agent(tool_call_limit=)`",
        "resume": '`SqliteDb`, `checkpoint="tool-batch"`, `continue_run`',
    },
    lacks={
        "steps": "`Agent` has `tool_call_limit`, but no limit on its requests",
        "subagents": "members of a `Team` have no limit on their requests",
        "tree": "no budget for a `Team` with its members",
        "loops": NO_LOOPS,
        "compaction": "`compress_tool_results` and session summaries depend on counts, not on a window",
        "tokens": "metrics only",
        "cost": "metrics only",
        "seconds": "no limit on the time of a run",
    },
)

PYDANTIC_AI = Compared(
    "pydantic-ai",
    "pydantic_ai.limit",
    needs=("pydantic-ai-slim[openai]",),
    offers={
        "steps": "`UsageLimits(request_limit=)`",
        "tool_calls": "`UsageLimits(tool_calls_limit=)`",
        "subagents": "a tool that runs an agent with its own `usage_limits`",
        "tree": "the same, with `usage=context.usage`",
        "tokens": "`UsageLimits(total_tokens_limit=)`",
        "cost": "`UsageLimits(cost_limit=)`, with the name of a model whose price it knows",
    },
    lacks={
        "loops": NO_LOOPS + " in the core",
        "compaction": NO_COMPACTION + " in the core; providers and another package have some",
        "resume": "`ConversationStore` is saved after a run, and only kept in memory; others are extra services",
        "seconds": "no limit on the time of a run",
    },
)

LANGGRAPH = Compared(
    "langgraph",
    "langgraph.limit",
    needs=("langchain", "langgraph", "langgraph-checkpoint-sqlite", "langchain-openai"),
    offers={
        "steps": "`ModelCallLimitMiddleware(thread_limit=, exit_behavior='end')`",
        "tool_calls": "`ToolCallLimitMiddleware(run_limit=, exit_behavior='end')`; by default the model continues",
        "subagents": "a tool that invokes an agent with its own middleware",
        "compaction": "`SummarizationMiddleware(trigger=('tokens', n), keep=('messages', 2))`",
        "resume": '`AsyncSqliteSaver`, `durability="sync"`, `ainvoke(None)`',
    },
    lacks={
        "tree": "the middleware counts in the state of one graph",
        "loops": NO_LOOPS,
        "tokens": "no middleware limits the tokens of a run",
        "cost": "no middleware limits the cost of a run",
        "seconds": "`step_timeout` limits one step of a graph",
    },
)

OPENAI_AGENTS = Compared(
    "openai-agents",
    "openai_agents.limit",
    needs=("openai-agents",),
    speech=Speech(delegate_argument="input"),
    offers={
        "steps": "`Runner.run(max_turns=)`",
        "subagents": "`Agent.as_tool(max_turns=)`",
        "resume": "`SQLiteSession`, and a run with the prompt continue",
    },
    lacks={
        "tool_calls": "no limit on calls in `RunConfig` and `ModelSettings`",
        "tree": "`max_turns` counts each run alone",
        "loops": NO_LOOPS,
        "compaction": "`OpenAIResponsesCompactionSession` needs another wire",
        "tokens": "usage is only reported",
        "cost": "usage is only reported",
        "seconds": "no limit on the time of a run",
    },
)

SMOLAGENTS = Compared(
    "smolagents",
    "smolagents.limit",
    needs=("smolagents[openai]",),
    speech=Speech(delegate_argument="task", finish="final_answer"),
    offers={"steps": "`ToolCallingAgent(max_steps=)`", "subagents": "`managed_agents`, each with its `max_steps`"},
    lacks={
        "tool_calls": "`max_tool_threads` limits how many run at once, but not how many run in total",
        "tree": "`max_steps` counts each agent alone",
        "loops": NO_LOOPS,
        "compaction": NO_COMPACTION,
        "resume": "the memory of an agent is not stored",
        "tokens": "usage is only reported",
        "cost": "usage is only reported",
        "seconds": "no limit on the time of a run",
    },
)

MINI_SWE_AGENT = Compared(
    "mini-swe-agent",
    "mini_swe_agent.limit",
    needs=("mini-swe-agent", "mcp"),
    speech=Speech("bash", "command", "./act ", finish="bash"),
    offers={
        "steps": "`step_limit`",
        "cost": "`cost_limit`, with a registry of prices",
        "seconds": "`wall_time_limit_seconds`",
    },
    lacks={
        "steps 0": "a `step_limit` of 0 means none",
        "tool_calls": "`AgentConfig` limits steps, cost and time",
        "subagents": "there are no subagents",
        "tree": "there are no subagents",
        "loops": NO_LOOPS + "; `max_consecutive_format_errors` counts replies that it cannot parse",
        "compaction": NO_COMPACTION,
        "resume": "`output_path` stores the trajectory, and nothing reads it again",
        "tokens": "`AgentConfig` limits steps, cost and time",
    },
)

PEERS = [OPENCODE, AGNO, PYDANTIC_AI, LANGGRAPH, OPENAI_AGENTS, SMOLAGENTS, MINI_SWE_AGENT]
