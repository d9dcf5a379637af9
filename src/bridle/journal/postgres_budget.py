"""`store_budget`: stores the budget of an account on PostgreSQL, and makes its days and months keep it."""

from __future__ import annotations

import msgspec

from bridle.core.budget import BudgetChange
from bridle.core.ids import period_range
from bridle.journal import postgres_queries as queries
from bridle.journal.postgres_server import Connection, Server
from bridle.wire import entries as wire


async def store_budget(server: Server, owner: str, change: BudgetChange, connection: Connection) -> bool:
    """Store a budget in one transaction; return False if it is the account's already."""
    text, period, body = server.text, period_range(owner), wire.encode(change.budget)
    async with connection.transaction():
        # Rows before their owner, as appends lock them; rows that appear meanwhile are found the second time.
        await connection.execute(text(queries.LOCK_PERIODS), period)
        await connection.execute(text(queries.ADD_OWNER), (owner,))
        known = await (await connection.execute(text(queries.LOCK_OWNER), (owner,))).fetchone()
        if known is not None and known[0] and wire.decode_budget(known[1]) == change.budget:
            return False
        await connection.execute(text(queries.SET_OWNER), (body, owner))
        await connection.execute(text(queries.ADD_BUDGET), (owner, change.at, body))
        for id, raw in await (await connection.execute(text(queries.LOCK_PERIODS), period)).fetchall():
            row = wire.decode_account(raw)
            row = msgspec.structs.replace(row, limits=change.budget.of(row.scope))
            await connection.execute(text(queries.SET_ACCOUNT), (wire.encode(row), id))
        return True
