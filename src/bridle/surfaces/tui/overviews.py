"""`Overviews`: actions that show a state and change it: MCP servers, permissions, limits, cost, status, help."""

from __future__ import annotations

from collections.abc import Iterator

from textual import work

from bridle.core.budget import BUDGETED, PeriodUse
from bridle.core.limits import LIMITS, LimitName, counted
from bridle.core.parts import TurnFinish
from bridle.core.session import Session
from bridle.errors import BridleError, ConfigError
from bridle.runtime.project_views import ServerRow
from bridle.surfaces.shared.limit_levels import level_words, levels, tree_words
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.actions import on_session, telling
from bridle.surfaces.tui.asks import Confirm
from bridle.surfaces.tui.commands import WORDS
from bridle.surfaces.tui.dialogs import Choice, DialogText, Picker
from bridle.surfaces.tui.external import output_of
from bridle.surfaces.tui.pickers import Pickers


class Overviews(Pickers):
    """Actions that show the state of the session and its project."""

    async def action_help(self, argument: str = "") -> None:
        theirs = {row.name: row.words for row in self.commands.rows() if not row.ours}
        await self.push_screen(DialogText("Keys and commands", self.keymap.help({**WORDS, **theirs})))

    @telling
    async def action_mcp(self, argument: str) -> str | None:
        self.notify("connecting to the MCP servers …", timeout=3)
        rows = await self.runtime.mcp_servers()
        if not rows:
            return "no MCP server is configured: bridle mcp add NAME -- COMMAND"
        choices = [Choice(row.name, _server_label(row)) for row in rows]
        self._pick_server(Picker("MCP servers", choices, also=self.keymap.in_list("list_login")), rows)
        return None

    @work
    async def _pick_server(self, picker: Picker, rows: list[ServerRow]) -> None:
        picked = await self.push_screen_wait(picker)
        row = next((row for row in rows if picked is not None and row.name == picked.id), None)
        if row is None or picked is None:
            return
        if not picked.action:
            await self.push_screen(DialogText(f"MCP server {row.name}", _server_words(row)))
            return
        try:
            await self.in_terminal("mcp", "auth", row.name)
        except ConfigError as error:
            self.notify(line(str(error)), severity="error", timeout=20)

    @telling
    async def action_permissions(self, argument: str) -> str | None:
        found = await self.runtime.approvals()
        if not found:
            return 'no permanent permissions: "Always" in a request grants one'
        choices = [Choice(str(number), f"{number:>3}  {line(words)}") for number, words in enumerate(found, 1)]
        self._pick_permission(Picker("Permanent permissions of this project: enter revokes", choices), found)
        return None

    @work
    async def _pick_permission(self, picker: Picker, found: list[str]) -> None:
        picked = await self.push_screen_wait(picker)
        if picked is None:
            return
        words = found[int(picked.id) - 1]
        if not await self.push_screen_wait(Confirm("Revoke this permission?", words, self.chat.editor)):
            return
        try:
            order = ("permissions", "revoke", picked.id, "--dir", str(self.runtime.directory))
            # The list may have changed meanwhile: a number means an entry only as long as it is the same.
            if (await self.runtime.approvals()) != found:
                raise ConfigError("the permissions have changed meanwhile: look again")
            status, printed = await output_of(self.host.command(order))
            self.notify(line(printed), severity="error" if status else "information")
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)

    @telling
    async def action_limits(self, argument: str) -> str | None:
        turn = self.chat.transcript.session.running
        account = await self.runtime.account()
        title = "\n".join(["Limits", *_period_rows("today", account.today), *_period_rows("this month", account.month)])
        if turn is None:
            await self.push_screen(DialogText("Limits", "\n".join([title, "", "no turn is running"])))
            return None
        rows = [level for level in levels(turn, self.chat.transcript.session.elapsed) if level.share is not None]
        tree = await self.runtime.tree_account(self.chat.transcript.session)
        title = "\n".join([title, *(tree_words(tree) if tree is not None else ()), "enter raises one"])
        choices = [Choice(level.limit.name, f"{level.limit.label:<12} {level.words}") for level in rows]
        self._pick_limit(Picker(title, choices))
        return None

    @work
    async def _pick_limit(self, picker: Picker) -> None:
        picked = await self.push_screen_wait(picker)
        name = next((name for name in LIMITS if picked is not None and name == picked.id), None)
        if name is not None:
            await self._raise(name)

    async def _raise(self, name: LimitName) -> None:
        try:
            self.notify(await self.chat.raise_limit(name))
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)

    @telling
    async def action_cost(self, argument: str) -> None:
        account = await self.runtime.account()
        rows = [*_session_use(self.chat.transcript.session), ""]
        rows += [*_period_rows("today", account.today), *_period_rows("this month", account.month)]
        await self.push_screen(DialogText("Cost", "\n".join(rows)))

    @telling
    async def action_status(self, argument: str) -> None:
        chat, session = self.chat, self.chat.transcript.session
        trust = await self.runtime.trust()
        try:
            ref, why = await self.runtime.chosen_model()
        except ConfigError as error:
            ref, why = "none", str(error)
        rows = [
            f"session    {chat.id_of_session if chat.begun else 'none yet: it begins with the first prompt'}",
            f"state      {chat.status or 'idle'}",
            f"directory  {self.runtime.directory}",
            f"agent      {chat.agent_now}",
            f"model      {chat.model_now or f'{ref} ({why})'}",
            f"variant    {chat.variant or 'as the agent has it'}",
            f"approvals  {chat.approvals}",
            f"trust      {trust.state}" + (f": {trust.command}" if trust.ignored else ""),
            *(f"           ignored: {words}" for words in trust.ignored),
            f"prompts    {len(session.prompts)}, {len(chat.waiting.items)} waiting",
        ]
        await self.push_screen(DialogText("Status", "\n".join(rows)))

    @on_session
    async def action_asks(self, argument: str) -> str | None:
        turn = self.chat.transcript.session.running
        if turn is None or not turn.asks:
            return "no request waits for an answer"
        await self.chat.ask_again()
        return None


def _server_label(row: ServerRow) -> str:
    state = f"✗ {row.problem}" if row.problem else f"✓ {len(row.tools)} tools"
    changes = f"  {len(row.changes)} changes wait for approval" if row.changes else ""
    return line(f"{row.name}  {state}{changes}")


def _server_words(row: ServerRow) -> str:
    rows = [row.where, row.problem or "answers", ""]
    rows += [f"tool     {name}" for name in row.tools]
    rows += [f"changed  {words}" for words in row.changes]
    rows += [f"approve with: bridle mcp approve {row.name}"] if row.changes else []
    return "\n".join(rows)


def _period_rows(title: str, use: PeriodUse) -> Iterator[str]:
    for name in BUDGETED:
        allowed = use.limits.of(name)
        if use.spent.of(name) or allowed is not None:
            yield f"{title:<11} {LIMITS[name].label:<12} {level_words(LIMITS[name], use.spent.of(name), allowed)}"


def _session_use(session: Session) -> Iterator[str]:
    finished = [part for part in session.parts.values() if isinstance(part, TurnFinish)]
    for finish in finished[-20:]:
        spent = finish.spent
        yield f"turn {finish.number:<6} {counted(spent.steps, 'step')}  {spent.tokens:,} tokens  ${spent.cost:.4f}"
    total = sum(finish.spent.cost for finish in finished)
    tokens = sum(finish.spent.tokens for finish in finished)
    yield f"session     {counted(len(finished), 'turn')}  {tokens:,} tokens  ${total:.4f}"
