"""SQL queries of `PostgresJournal`, as constants; a journal puts its own schema in the place of `bridle`."""

from __future__ import annotations

ALIVE = "EXISTS (SELECT FROM bridle.worker AS w WHERE w.id = s.holder AND w.until > clock_timestamp())"

UNFLUSHED = "set_config('synchronous_commit', 'off', true)"
"""The commit does not wait for the disk: what is built on it and is durable flushes it too."""

NUMBER = "SELECT number FROM bridle.session WHERE id = %s"
CREATE = f"""
    WITH made AS (
        INSERT INTO bridle.session (id, info, queue, sequence, updated) VALUES (%s, %s, %s, 1, %s)
        ON CONFLICT (id) DO NOTHING RETURNING number
    )
    INSERT INTO bridle.entry (session, sequence, at, elapsed, events)
    SELECT number, 1, %s, %s, %s FROM made RETURNING {UNFLUSHED}
"""
ENTRIES = """
    SELECT sequence, at, elapsed, events FROM bridle.entry
    WHERE session = (SELECT number FROM bridle.session WHERE id = %s) AND sequence > %s ORDER BY sequence
"""
SUBMIT = f"""
    WITH found AS (SELECT number FROM bridle.session WHERE id = %s), added AS (
        INSERT INTO bridle.inbox (session, id, item) SELECT number, %s, %s FROM found
        ON CONFLICT DO NOTHING RETURNING number
    ), wanted AS (
        UPDATE bridle.session AS s SET wanted = coalesce(wanted, clock_timestamp()), deaths = 0, problem = ''
        FROM found WHERE s.number = found.number
    )
    SELECT number, EXISTS (SELECT FROM added), pg_notify(%s, '@' || number), CASE WHEN NOT %s THEN {UNFLUSHED} END
    FROM found
"""
INBOX = """
    SELECT i.item FROM bridle.session AS s
    LEFT JOIN bridle.inbox AS i ON i.session = s.number AND i.item IS NOT NULL
    WHERE s.id = %s ORDER BY i.number
"""
ACQUIRE = f"""
    WITH before AS (SELECT number, wanted FROM bridle.session WHERE id = %s FOR NO KEY UPDATE)
    UPDATE bridle.session AS s SET epoch = s.epoch + 1, holder = %s, wanted = NULL, problem = ''
    FROM before WHERE s.number = before.number AND NOT {ALIVE}
    RETURNING s.number, s.epoch, before.wanted, {UNFLUSHED}
"""
HOLDS = "SELECT 1 FROM bridle.session WHERE number = %s AND epoch = %s AND holder = %s"
IS_HELD = f"SELECT 1 FROM bridle.session AS s WHERE s.id = %s AND {ALIVE}"
RELEASE = """
    WITH freed AS (
        UPDATE bridle.session SET holder = NULL, deaths = CASE WHEN %s THEN 0 ELSE deaths END,
            wanted = CASE WHEN %s THEN wanted ELSE coalesce(%s::timestamptz, wanted) END
        WHERE number = %s AND epoch = %s AND holder = %s RETURNING number
    )
    SELECT pg_notify(%s, %s) FROM freed
"""
FREE_STRAYS = """
    UPDATE bridle.session SET holder = NULL, wanted = coalesce(wanted, clock_timestamp())
    WHERE holder = %s AND NOT id = ANY (%s)
"""
MARK = f"""
    SELECT s.sequence, s.ends, s.epoch, {ALIVE},
        (SELECT max(i.number) FROM bridle.inbox AS i WHERE i.session = s.number AND i.item IS NOT NULL)
    FROM bridle.session AS s WHERE s.id = %s
"""
ACCOUNT = "SELECT account FROM bridle.account WHERE id = %s AND version > 0"
HOLDING = "SELECT account FROM bridle.account WHERE holds AND id BETWEEN %s AND %s"
SESSIONS = """
    SELECT info, sequence, updated FROM bridle.session
    WHERE (%(at)s::float8 IS NULL OR (updated, id) < (%(at)s::float8, %(id)s COLLATE "C"))
        AND position(%(directory)s::bytea IN info) > 0
    ORDER BY updated DESC, id DESC LIMIT %(most)s::bigint
"""
DELETE = """
    WITH gone AS (
        DELETE FROM bridle.session WHERE number = %(number)s AND epoch = %(epoch)s AND holder = %(me)s RETURNING number
    ), entries AS (DELETE FROM bridle.entry USING gone WHERE session = gone.number),
    items AS (DELETE FROM bridle.inbox USING gone WHERE session = gone.number),
    accounts AS (DELETE FROM bridle.account USING gone WHERE id >= %(first)s AND id < %(end)s)
    SELECT number FROM gone
"""
INFO = "SELECT info FROM bridle.session WHERE id = %s"
SIZE = "SELECT sum(octet_length(events)) FROM bridle.entry WHERE session = %s"
BUDGETS = "SELECT budget, at FROM bridle.budget WHERE owner = %s ORDER BY number DESC LIMIT %s"
LOCK_PERIODS = """
    SELECT id, account FROM bridle.account WHERE id >= %s AND id < %s AND version > 0 ORDER BY id FOR NO KEY UPDATE
"""
ADD_OWNER = "INSERT INTO bridle.owner (id, version, budget) VALUES (%s, 0, '') ON CONFLICT DO NOTHING"
LOCK_OWNER = "SELECT version, budget FROM bridle.owner WHERE id = %s FOR UPDATE"
SET_OWNER = "UPDATE bridle.owner SET version = version + 1, budget = %s WHERE id = %s"
ADD_BUDGET = "INSERT INTO bridle.budget (owner, at, budget) VALUES (%s, %s, %s)"
SET_ACCOUNT = "UPDATE bridle.account SET version = version + 1, account = %s WHERE id = %s"
NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, %s)"
"""Sends what may be lost: its commit waits for no disk."""
