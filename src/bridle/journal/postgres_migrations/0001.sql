-- Tables of a journal on PostgreSQL. Names are qualified, so that a connection pool needs no search path.
CREATE SCHEMA IF NOT EXISTS bridle;
-- `needs` is the oldest schema that a program must know to write here: two releases may share a database. `queue` is
-- the last migration of Procrastinate in the schema of the wakes, empty without one.
CREATE TABLE bridle.version (number integer NOT NULL, needs integer NOT NULL, queue text NOT NULL DEFAULT '');
INSERT INTO bridle.version VALUES (1, 1);
-- Each process that holds leases. Those that drive sessions of others say of which queues.
CREATE TABLE bridle.worker (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    until timestamptz NOT NULL,
    began timestamptz NOT NULL DEFAULT clock_timestamp(),
    host text NOT NULL DEFAULT '',
    process integer NOT NULL DEFAULT 0,
    queues text[] NOT NULL DEFAULT '{}'
);
-- A session changes with every append: room in its page keeps the new version there, without work in the indexes.
-- `wanted` is the time of the first item that no drive has looked at, `problem` why the last drive has failed, `deaths`
-- how many holders have died in a row. A session that may be what kills them is set aside until a person wants it.
CREATE TABLE bridle.session (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    info bytea NOT NULL,
    sequence integer NOT NULL,
    updated double precision NOT NULL,
    ends integer NOT NULL DEFAULT 0,
    epoch bigint NOT NULL DEFAULT 0,
    holder bigint,
    wanted timestamptz,
    queue text NOT NULL DEFAULT '@',
    problem text NOT NULL DEFAULT '',
    deaths integer NOT NULL DEFAULT 0,
    aside boolean GENERATED ALWAYS AS (deaths >= 3) STORED
) WITH (fillfactor = 70);
CREATE INDEX session_holder ON bridle.session (holder) WHERE holder IS NOT NULL;
CREATE INDEX session_wanted ON bridle.session (wanted) WHERE wanted IS NOT NULL;
CREATE TABLE bridle.entry (
    session bigint NOT NULL,
    sequence integer NOT NULL,
    at double precision NOT NULL,
    elapsed double precision NOT NULL,
    events bytea NOT NULL,
    PRIMARY KEY (session, sequence)
);
CREATE TABLE bridle.inbox (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    item bytea,
    UNIQUE (session, id)
);
CREATE INDEX inbox_open ON bridle.inbox (session, number) WHERE item IS NOT NULL;
-- Version 0 is a row that is being opened and counts as absent.
CREATE TABLE bridle.account (
    id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    holds boolean NOT NULL,
    account bytea NOT NULL
) WITH (fillfactor = 50);
-- The budget of each account that has one, with a version like that of its days and months.
CREATE TABLE bridle.owner (
    id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    budget bytea NOT NULL
);
CREATE TABLE bridle.budget (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text COLLATE "C" NOT NULL,
    at double precision NOT NULL,
    budget bytea NOT NULL
);
CREATE INDEX budget_owner ON bridle.budget (owner, number);

-- Write a batch of appends, at most one for each session, or report why nothing was written: sessions whose lease or
-- sequence has changed ('lost'), accounts ('moved') and budgets ('budget') whose version has changed, with their current
-- rows. Sessions are locked before accounts and these before owners, all in order, so that no two batches wait for each
-- other. `owner_ids` are those whose budget decided about days and months that these appends open.
CREATE FUNCTION bridle.append_v1(
    durable boolean, me bigint, channel text, told text,
    sessions bigint[], epochs bigint[], firsts integer[], lasts integer[], endings integer[], times double precision[],
    entry_sessions bigint[], entry_sequences integer[], entry_at double precision[],
    entry_elapsed double precision[], entry_events bytea[],
    account_ids text[], account_versions bigint[], account_holds boolean[], account_bodies bytea[],
    owner_ids text[], owner_versions bigint[],
    taken_sessions bigint[], taken_ids text[],
    info_sessions bigint[], info_bodies bytea[], info_queues text[]
) RETURNS TABLE (problem text, key text, version bigint, body bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF NOT durable THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    RETURN QUERY
        WITH locked AS MATERIALIZED (
            SELECT number, epoch, holder, sequence FROM bridle.session
            WHERE number = ANY (sessions) ORDER BY number FOR NO KEY UPDATE
        )
        SELECT 'lost'::text, wanted.number::text, NULL::bigint, NULL::bytea
        FROM unnest(sessions, epochs, firsts) AS wanted (number, epoch, first)
        LEFT JOIN locked ON locked.number = wanted.number
        WHERE locked.number IS NULL OR locked.epoch <> wanted.epoch OR locked.holder IS DISTINCT FROM me
            OR locked.sequence <> wanted.first - 1
            OR NOT EXISTS (SELECT FROM bridle.worker WHERE id = me AND until > clock_timestamp());
    IF FOUND THEN
        RETURN;
    END IF;
    INSERT INTO bridle.account (id, version, holds, account)
        SELECT wanted.id, 0, false, ''::bytea FROM unnest(account_ids, account_versions) AS wanted (id, version)
        WHERE wanted.version = 0 ORDER BY wanted.id
        ON CONFLICT DO NOTHING;
    RETURN QUERY
        WITH locked AS MATERIALIZED (
            SELECT id, version, account FROM bridle.account
            WHERE id = ANY (account_ids) ORDER BY id FOR NO KEY UPDATE
        )
        SELECT 'moved'::text, wanted.id, coalesce(locked.version, 0), locked.account
        FROM unnest(account_ids, account_versions) AS wanted (id, version)
        LEFT JOIN locked ON locked.id = wanted.id
        WHERE locked.version IS DISTINCT FROM wanted.version;
    IF FOUND THEN
        RETURN;
    END IF;
    IF cardinality(owner_ids) > 0 THEN
        INSERT INTO bridle.owner (id, version, budget)
            SELECT wanted.id, 0, ''::bytea FROM unnest(owner_ids, owner_versions) AS wanted (id, version)
            WHERE wanted.version = 0 ORDER BY wanted.id
            ON CONFLICT DO NOTHING;
        RETURN QUERY
            WITH locked AS MATERIALIZED (
                SELECT id, version, budget FROM bridle.owner WHERE id = ANY (owner_ids) ORDER BY id FOR SHARE
            )
            SELECT 'budget'::text, wanted.id, coalesce(locked.version, 0), locked.budget
            FROM unnest(owner_ids, owner_versions) AS wanted (id, version)
            LEFT JOIN locked ON locked.id = wanted.id
            WHERE locked.version IS DISTINCT FROM wanted.version;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    UPDATE bridle.account AS a SET version = a.version + 1, holds = new.holds, account = new.body
        FROM unnest(account_ids, account_holds, account_bodies) AS new (id, holds, body) WHERE a.id = new.id;
    INSERT INTO bridle.entry (session, sequence, at, elapsed, events)
        SELECT * FROM unnest(entry_sessions, entry_sequences, entry_at, entry_elapsed, entry_events);
    UPDATE bridle.session AS s SET sequence = new.last, updated = new.at, ends = s.ends + new.ends
        FROM unnest(sessions, lasts, endings, times) AS new (number, last, ends, at) WHERE s.number = new.number;
    IF cardinality(info_sessions) > 0 THEN
        UPDATE bridle.session AS s SET info = new.body, queue = new.queue
            FROM unnest(info_sessions, info_bodies, info_queues) AS new (number, body, queue)
            WHERE s.number = new.number;
    END IF;
    IF cardinality(taken_sessions) > 0 THEN
        INSERT INTO bridle.inbox (session, id) SELECT * FROM unnest(taken_sessions, taken_ids)
            ON CONFLICT (session, id) DO UPDATE SET item = NULL;
    END IF;
    IF told <> '' THEN
        PERFORM pg_notify(channel, told);
    END IF;
END $$;

-- Put wakes of these sessions into the queue that workers read, at most one that waits for each session.
CREATE FUNCTION bridle.wake_v1(ids text[], held boolean) RETURNS void LANGUAGE plpgsql
SET search_path = bridle_queue, pg_temp AS $$
DECLARE
    one record;
BEGIN
    IF held THEN
        UPDATE bridle.session SET deaths = 0, problem = '' WHERE id = ANY (ids) AND (aside OR problem <> '');
    END IF;
    FOR one IN SELECT id, queue FROM bridle.session WHERE id = ANY (ids) AND NOT aside ORDER BY id LOOP
        BEGIN
            PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW(
                one.queue, 'drive', 0, NULL, one.id, jsonb_build_object('session', one.id, 'held', held), NULL
            )::procrastinate_job_to_defer_v1]);
        EXCEPTION WHEN unique_violation THEN
            -- The session may have moved to another machine since.
            UPDATE procrastinate_jobs SET queue_name = one.queue
                WHERE queueing_lock = one.id AND status = 'todo' AND queue_name <> one.queue;
            IF held THEN
                UPDATE procrastinate_jobs SET args = args || '{"held": true}'
                    WHERE queueing_lock = one.id AND status = 'todo';
            END IF;
        END;
    END LOOP;
END $$;

-- Delete the jobs of workers that have given no sign of life for this long. The sweep wakes their sessions.
CREATE FUNCTION bridle.clear_v1(stalled double precision) RETURNS void LANGUAGE plpgsql
SET search_path = bridle_queue, pg_temp AS $$
BEGIN
    DELETE FROM procrastinate_jobs AS j WHERE status = 'doing' AND NOT EXISTS (
        SELECT FROM procrastinate_workers AS w
        WHERE w.id = j.worker_id AND w.last_heartbeat > clock_timestamp() - make_interval(secs => stalled)
    );
END $$;

-- Free the sessions whose holder is gone, and wake them and those that nobody has looked at for a while. One process
-- does so at a time.
CREATE FUNCTION bridle.sweep_v1(patience double precision) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    due text[];
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('bridle.sweep')) THEN
        RETURN 0;
    END IF;
    WITH gone AS (
        SELECT number FROM bridle.session AS s WHERE holder IS NOT NULL AND NOT EXISTS (
            SELECT FROM bridle.worker AS w WHERE w.id = s.holder AND w.until > clock_timestamp()
        ) FOR UPDATE SKIP LOCKED
    ), freed AS (
        -- Its wake may be lost with another worker: it is wanted until a drive has it.
        UPDATE bridle.session AS s
        SET holder = NULL, deaths = s.deaths + 1, wanted = coalesce(s.wanted, clock_timestamp())
        FROM gone WHERE s.number = gone.number RETURNING s.id
    )
    SELECT array_agg(id) FROM (
        SELECT id FROM freed
        UNION
        SELECT id FROM bridle.session WHERE holder IS NULL AND NOT aside
            AND wanted < clock_timestamp() - make_interval(secs => patience)
    ) AS found INTO due;
    DELETE FROM bridle.worker AS w WHERE until < clock_timestamp() - interval '1 hour'
        AND NOT EXISTS (SELECT FROM bridle.session AS s WHERE s.holder = w.id);
    IF due IS NOT NULL THEN
        PERFORM bridle.wake_v1(due, false);
    END IF;
    RETURN coalesce(cardinality(due), 0);
END $$;
