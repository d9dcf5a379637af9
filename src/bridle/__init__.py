"""Bridle: an agent runtime whose turns are limited, recorded, and always end with a result."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridle.client.client import ServerClient as ServerClient, connect as connect
    from bridle.config.settings import (
        AgentSettings as AgentSettings,
        CompactionSettings as CompactionSettings,
        DeadlineSettings as DeadlineSettings,
        JournalSettings as JournalSettings,
        LimitSettings as LimitSettings,
        McpServer as McpServer,
        ModelSettings as ModelSettings,
        PromptSettings as PromptSettings,
        RetrySettings as RetrySettings,
        SandboxSettings as SandboxSettings,
        Settings as Settings,
        ShellSettings as ShellSettings,
        TelemetrySettings as TelemetrySettings,
        TreeSettings as TreeSettings,
        WorkerSettings as WorkerSettings,
    )
    from bridle.core.agent import AgentDefinition as AgentDefinition, ModelInfo as ModelInfo, Price as Price
    from bridle.core.budget import (
        AccountUse as AccountUse,
        Budget as Budget,
        BudgetChange as BudgetChange,
        PeriodUse as PeriodUse,
    )
    from bridle.core.events import Entry as Entry, PartDelta as PartDelta, SessionInfo as SessionInfo
    from bridle.core.hook import HookSettings as HookSettings
    from bridle.core.inbox import PromptItem as PromptItem, TurnOptions as TurnOptions
    from bridle.core.ledger import Account as Account, TreeLimits as TreeLimits
    from bridle.core.limits import (
        Allowance as Allowance,
        Limits as Limits,
        ReachedLimit as ReachedLimit,
        Spent as Spent,
    )
    from bridle.core.messages import (
        AssistantMessage as AssistantMessage,
        AssistantText as AssistantText,
        Attachment as Attachment,
        CallMessage as CallMessage,
        Message as Message,
        ResultMessage as ResultMessage,
        Thought as Thought,
        UserMessage as UserMessage,
    )
    from bridle.core.parts import Extension as Extension, File as File, Notice as Notice
    from bridle.core.permission import Access as Access, Rule as Rule
    from bridle.core.result import Result as Result
    from bridle.core.session import Session as Session
    from bridle.core.states import Ask as Ask
    from bridle.core.status import Status as Status
    from bridle.core.stream import (
        Alive as Alive,
        ModelError as ModelError,
        ModelRequest as ModelRequest,
        ReasoningDelta as ReasoningDelta,
        StepEnd as StepEnd,
        StreamEnd as StreamEnd,
        StreamEvent as StreamEvent,
        TextDelta as TextDelta,
        ToolCall as ToolCall,
        ToolInputDelta as ToolInputDelta,
        ToolInputEnd as ToolInputEnd,
        ToolInputStart as ToolInputStart,
        ToolSpec as ToolSpec,
    )
    from bridle.core.todos import Todo as Todo
    from bridle.core.usage import ModelUse as ModelUse, Usage as Usage
    from bridle.engine.drive import DriveSetup as DriveSetup
    from bridle.engine.engine import Engine as Engine
    from bridle.engine.local import LocalEngine as LocalEngine
    from bridle.errors import (
        AccessRefused as AccessRefused,
        AlreadyAnswered as AlreadyAnswered,
        BridleError as BridleError,
        ConfigError as ConfigError,
        JournalError as JournalError,
        JournalRefused as JournalRefused,
        LeaseLost as LeaseLost,
        NoOutput as NoOutput,
        NoSuchSession as NoSuchSession,
        Retry as Retry,
        ServerAway as ServerAway,
        TokenRefused as TokenRefused,
        ToolFailed as ToolFailed,
        TurnLeft as TurnLeft,
    )
    from bridle.journal.journal import Journal as Journal, Lease as Lease
    from bridle.journal.memory import MemoryJournal as MemoryJournal
    from bridle.library.agent import Agent as Agent
    from bridle.library.anthropic_messages import from_anthropic as from_anthropic
    from bridle.library.coding_tools import coding_tools as coding_tools
    from bridle.library.context import Context as Context
    from bridle.library.hooks import Hooks as Hooks, Replace as Replace
    from bridle.library.message_shapes import to_anthropic as to_anthropic, to_openai as to_openai
    from bridle.library.openai_messages import from_openai as from_openai
    from bridle.library.stream import Stream as Stream
    from bridle.library.tool import tool as tool
    from bridle.model.function_model import FunctionModel as FunctionModel
    from bridle.model.model import Model as Model
    from bridle.runtime import Runtime as Runtime, RuntimeConfig as RuntimeConfig
    from bridle.runtime.sessions import (
        Branch as Branch,
        PageMark as PageMark,
        Reverted as Reverted,
        SessionQuery as SessionQuery,
        SessionRow as SessionRow,
        Sessions as Sessions,
    )
    from bridle.seams import Seams as Seams
    from bridle.testing.forbid import forbid_requests as forbid_requests
    from bridle.testing.scripted import (
        Reply as Reply,
        ScriptedCall as ScriptedCall,
        ScriptedError as ScriptedError,
        ScriptedModel as ScriptedModel,
        call as call,
    )
    from bridle.tools.attachments import Media as Media
    from bridle.tools.tool import Output as Output, Tool as Tool
    from bridle.turn.hook import (
        AfterCall as AfterCall,
        AfterRequest as AfterRequest,
        BeforeCall as BeforeCall,
        BeforeRequest as BeforeRequest,
        Change as Change,
        ModelReply as ModelReply,
        Refuse as Refuse,
    )
    from bridle.values.provider import Provider as Provider
    from bridle.wire.events import (
        AskEndEvent as AskEndEvent,
        AskEvent as AskEvent,
        CompactionEvent as CompactionEvent,
        DeltaEvent as DeltaEvent,
        ErrorEvent as ErrorEvent,
        Event as Event,
        NoticeEvent as NoticeEvent,
        PatchEvent as PatchEvent,
        PromptEvent as PromptEvent,
        ReasoningEvent as ReasoningEvent,
        RedoEvent as RedoEvent,
        RemovedEvent as RemovedEvent,
        ResultEvent as ResultEvent,
        RetryEvent as RetryEvent,
        SentinelEvent as SentinelEvent,
        SessionEvent as SessionEvent,
        StatusEvent as StatusEvent,
        StepFinishEvent as StepFinishEvent,
        StepStartEvent as StepStartEvent,
        SubagentEvent as SubagentEvent,
        TextEvent as TextEvent,
        TitleEvent as TitleEvent,
        TodosEvent as TodosEvent,
        ToolStartEvent as ToolStartEvent,
        ToolUseEvent as ToolUseEvent,
        TurnFinishEvent as TurnFinishEvent,
        TurnStartEvent as TurnStartEvent,
        UndoEvent as UndoEvent,
        WithdrawnEvent as WithdrawnEvent,
    )
    from bridle.wire.projection import EventStream as EventStream

    __version__: str

_PLACES = {
    "Provider": "bridle.values.provider",
    "AgentSettings": "bridle.config.settings",
    "CompactionSettings": "bridle.config.settings",
    "DeadlineSettings": "bridle.config.settings",
    "JournalSettings": "bridle.config.settings",
    "LimitSettings": "bridle.config.settings",
    "PromptSettings": "bridle.config.settings",
    "RetrySettings": "bridle.config.settings",
    "SandboxSettings": "bridle.config.settings",
    "ShellSettings": "bridle.config.settings",
    "TreeSettings": "bridle.config.settings",
    "HookSettings": "bridle.core.hook",
    "Tool": "bridle.tools.tool",
    "Access": "bridle.core.permission",
    "ToolSpec": "bridle.core.stream",
    "ToolInputStart": "bridle.core.stream",
    "ToolInputDelta": "bridle.core.stream",
    "ToolInputEnd": "bridle.core.stream",
    "Alive": "bridle.core.stream",
    "Session": "bridle.core.session",
    "PromptItem": "bridle.core.inbox",
    "Allowance": "bridle.core.limits",
    "Journal": "bridle.journal.journal",
    "MemoryJournal": "bridle.journal.memory",
    "Lease": "bridle.journal.journal",
    "Engine": "bridle.engine.engine",
    "LocalEngine": "bridle.engine.local",
    "DriveSetup": "bridle.engine.drive",
    "Todo": "bridle.core.todos",
    "BudgetChange": "bridle.core.budget",
    "Account": "bridle.core.ledger",
    "Seams": "bridle.seams",
    "AccessRefused": "bridle.errors",
    "AccountUse": "bridle.core.budget",
    "AfterCall": "bridle.turn.hook",
    "AfterRequest": "bridle.turn.hook",
    "Agent": "bridle.library.agent",
    "AgentDefinition": "bridle.core.agent",
    "AlreadyAnswered": "bridle.errors",
    "Ask": "bridle.core.states",
    "AskEndEvent": "bridle.wire.events",
    "AskEvent": "bridle.wire.events",
    "AssistantMessage": "bridle.core.messages",
    "AssistantText": "bridle.core.messages",
    "Attachment": "bridle.core.messages",
    "BeforeCall": "bridle.turn.hook",
    "BeforeRequest": "bridle.turn.hook",
    "Branch": "bridle.runtime.sessions",
    "BridleError": "bridle.errors",
    "Budget": "bridle.core.budget",
    "CallMessage": "bridle.core.messages",
    "Change": "bridle.turn.hook",
    "CompactionEvent": "bridle.wire.events",
    "ConfigError": "bridle.errors",
    "Context": "bridle.library.context",
    "DeltaEvent": "bridle.wire.events",
    "Entry": "bridle.core.events",
    "ErrorEvent": "bridle.wire.events",
    "Event": "bridle.wire.events",
    "EventStream": "bridle.wire.projection",
    "Extension": "bridle.core.parts",
    "File": "bridle.core.parts",
    "FunctionModel": "bridle.model.function_model",
    "Hooks": "bridle.library.hooks",
    "JournalError": "bridle.errors",
    "JournalRefused": "bridle.errors",
    "LeaseLost": "bridle.errors",
    "Limits": "bridle.core.limits",
    "McpServer": "bridle.config.settings",
    "Media": "bridle.tools.attachments",
    "Message": "bridle.core.messages",
    "Model": "bridle.model.model",
    "ModelError": "bridle.core.stream",
    "ModelInfo": "bridle.core.agent",
    "ModelReply": "bridle.turn.hook",
    "ModelRequest": "bridle.core.stream",
    "ModelSettings": "bridle.config.settings",
    "ModelUse": "bridle.core.usage",
    "NoOutput": "bridle.errors",
    "NoSuchSession": "bridle.errors",
    "Notice": "bridle.core.parts",
    "NoticeEvent": "bridle.wire.events",
    "Output": "bridle.tools.tool",
    "PartDelta": "bridle.core.events",
    "PatchEvent": "bridle.wire.events",
    "PeriodUse": "bridle.core.budget",
    "Price": "bridle.core.agent",
    "PromptEvent": "bridle.wire.events",
    "ReachedLimit": "bridle.core.limits",
    "ReasoningDelta": "bridle.core.stream",
    "ReasoningEvent": "bridle.wire.events",
    "RedoEvent": "bridle.wire.events",
    "Refuse": "bridle.turn.hook",
    "RemovedEvent": "bridle.wire.events",
    "Replace": "bridle.library.hooks",
    "Reply": "bridle.testing.scripted",
    "Result": "bridle.core.result",
    "ResultEvent": "bridle.wire.events",
    "ResultMessage": "bridle.core.messages",
    "Retry": "bridle.errors",
    "RetryEvent": "bridle.wire.events",
    "Reverted": "bridle.runtime.sessions",
    "Rule": "bridle.core.permission",
    "Runtime": "bridle.runtime",
    "RuntimeConfig": "bridle.runtime",
    "ScriptedCall": "bridle.testing.scripted",
    "ScriptedError": "bridle.testing.scripted",
    "ScriptedModel": "bridle.testing.scripted",
    "SentinelEvent": "bridle.wire.events",
    "ServerAway": "bridle.errors",
    "ServerClient": "bridle.client.client",
    "SessionEvent": "bridle.wire.events",
    "SessionInfo": "bridle.core.events",
    "PageMark": "bridle.runtime.sessions",
    "SessionQuery": "bridle.runtime.sessions",
    "SessionRow": "bridle.runtime.sessions",
    "Sessions": "bridle.runtime.sessions",
    "Settings": "bridle.config.settings",
    "Spent": "bridle.core.limits",
    "Status": "bridle.core.status",
    "StatusEvent": "bridle.wire.events",
    "StepEnd": "bridle.core.stream",
    "StepFinishEvent": "bridle.wire.events",
    "StepStartEvent": "bridle.wire.events",
    "Stream": "bridle.library.stream",
    "StreamEnd": "bridle.core.stream",
    "StreamEvent": "bridle.core.stream",
    "SubagentEvent": "bridle.wire.events",
    "TelemetrySettings": "bridle.config.settings",
    "TextDelta": "bridle.core.stream",
    "TextEvent": "bridle.wire.events",
    "Thought": "bridle.core.messages",
    "TitleEvent": "bridle.wire.events",
    "TodosEvent": "bridle.wire.events",
    "ToolCall": "bridle.core.stream",
    "TokenRefused": "bridle.errors",
    "ToolFailed": "bridle.errors",
    "ToolStartEvent": "bridle.wire.events",
    "ToolUseEvent": "bridle.wire.events",
    "TreeLimits": "bridle.core.ledger",
    "TurnFinishEvent": "bridle.wire.events",
    "TurnLeft": "bridle.errors",
    "TurnOptions": "bridle.core.inbox",
    "TurnStartEvent": "bridle.wire.events",
    "UndoEvent": "bridle.wire.events",
    "WithdrawnEvent": "bridle.wire.events",
    "Usage": "bridle.core.usage",
    "UserMessage": "bridle.core.messages",
    "WorkerSettings": "bridle.config.settings",
    "call": "bridle.testing.scripted",
    "connect": "bridle.client.client",
    "coding_tools": "bridle.library.coding_tools",
    "forbid_requests": "bridle.testing.forbid",
    "from_anthropic": "bridle.library.anthropic_messages",
    "from_openai": "bridle.library.openai_messages",
    "to_anthropic": "bridle.library.message_shapes",
    "to_openai": "bridle.library.message_shapes",
    "tool": "bridle.library.tool",
}

__all__ = list(_PLACES)


def unsupported() -> str:
    """Return why Bridle cannot run on this system; empty if it can."""
    if sys.platform in ("linux", "darwin"):
        return ""
    return f"{sys.platform} is not supported: Bridle runs on Linux and macOS, and on Windows inside WSL"


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that importing Bridle is cheap."""
    if name == "__version__":
        return _version()
    if name not in _PLACES:
        raise AttributeError(f"module 'bridle' has no attribute {name!r}")
    if refusal := unsupported():
        raise ImportError(refusal)
    return getattr(import_module(_PLACES[name]), name)


def _version() -> str:
    """Return the version of the installed package, whose only source is pyproject.toml."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("bridle")
    except PackageNotFoundError:
        # A source tree on the path that was never installed.
        return "unknown"
