-- `bridle workers` lists what waits without reading all sessions; the sweep uses the same index.
CREATE INDEX session_waiting ON bridle.session (wanted, number) WHERE aside OR problem <> '' OR wanted IS NOT NULL;
DROP INDEX bridle.session_wanted;
UPDATE bridle.version SET number = 2;
