-- name: create_session
INSERT OR IGNORE INTO session (id, epoch, info) VALUES (?, 0, ?)
-- name: session
SELECT number, epoch FROM session WHERE id = ?
-- name: raise_epoch
UPDATE session SET epoch = epoch + 1 WHERE id = ? RETURNING epoch
-- name: epoch
SELECT epoch FROM session WHERE id = ?
-- name: put_info
UPDATE session SET info = ? WHERE id = ?
-- name: list_sessions
SELECT number, info, key, at FROM session LEFT JOIN entry ON key = (
    SELECT key FROM entry WHERE key BETWEEN number << 32 AND (number << 32) + 4294967295 ORDER BY key DESC LIMIT 1
) WHERE length(info) ORDER BY at DESC, id DESC
-- name: last_entry
SELECT key, at FROM entry WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1
-- name: add_entry
INSERT INTO entry (key, at, elapsed, events)
SELECT ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM session WHERE number = ? AND epoch = ?)
-- name: load_entries
SELECT key, at, elapsed, events FROM entry WHERE key BETWEEN ? AND ? ORDER BY key
-- name: add_item
INSERT OR IGNORE INTO inbox (session, id, item) VALUES (?, ?, ?)
-- name: open_items
SELECT item FROM inbox WHERE session = ? AND item IS NOT NULL ORDER BY number
-- name: take_item
INSERT INTO inbox (session, id) VALUES (?, ?) ON CONFLICT (session, id) DO UPDATE SET item = NULL
-- name: get_account
SELECT account FROM account WHERE id = ?
-- name: held_accounts
SELECT account FROM account WHERE id BETWEEN ? AND ? AND instr(account, CAST('"held":' AS BLOB))
-- name: put_account
INSERT INTO account (id, account) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET account = excluded.account
-- name: accounts_between
SELECT account FROM account WHERE id >= ? AND id < ?
-- name: add_budget
INSERT INTO budget (account, at, budget) VALUES (?, ?, ?)
-- name: budgets
SELECT budget, at FROM budget WHERE account = ? ORDER BY number DESC LIMIT ?
-- name: data_version
PRAGMA data_version
-- name: delete_session
UPDATE session SET id = '~' || number, info = x'', epoch = epoch + 1 WHERE number = ? AND epoch = ?
-- name: delete_entries
DELETE FROM entry WHERE key BETWEEN ? AND ?
-- name: delete_items
DELETE FROM inbox WHERE session = ?
-- name: delete_accounts
DELETE FROM account WHERE id BETWEEN ? AND ?
-- name: entry_bytes
SELECT sum(length(events)) FROM entry WHERE key BETWEEN ? AND ?
-- name: vacuum
VACUUM
-- name: truncate_log
PRAGMA wal_checkpoint(TRUNCATE)
