-- A wake is done once its drive has ended: a job whose worker died is queued anew, also if the worker had not yet taken
-- the lease, or had released it to let another worker continue. Deaths go on counting if a person asked for the job.
CREATE OR REPLACE FUNCTION bridle.clear_v1(stalled double precision) RETURNS void LANGUAGE plpgsql
SET search_path = bridle_queue, pg_temp AS $$
DECLARE
    lost text[];
    asked text[];
BEGIN
    WITH gone AS (
        DELETE FROM procrastinate_jobs AS j WHERE status = 'doing' AND NOT EXISTS (
            SELECT FROM procrastinate_workers AS w
            WHERE w.id = j.worker_id AND w.last_heartbeat > clock_timestamp() - make_interval(secs => stalled)
        ) RETURNING queueing_lock, (args ->> 'held')::boolean AS held
    )
    SELECT array_agg(queueing_lock), array_agg(queueing_lock) FILTER (WHERE held) FROM gone INTO lost, asked;
    IF lost IS NOT NULL THEN
        PERFORM bridle.wake_v1(lost, false);
        UPDATE procrastinate_jobs SET args = args || '{"held": true}'
            WHERE queueing_lock = ANY (asked) AND status = 'todo';
    END IF;
END $$;
UPDATE bridle.version SET number = 4;
