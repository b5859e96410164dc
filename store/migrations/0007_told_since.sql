-- A summary goes with the oldest of what it tells of, which its record says when
-- it was said. As a number that is exact to the nanosecond, since text with and
-- without a fraction has no order.
ALTER TABLE sessions ADD COLUMN told_since INTEGER GENERATED ALWAYS AS (
    CASE WHEN json_valid(record) AND json_extract(record, '$.summary.since') BETWEEN '1700' AND '2200'
    THEN unixepoch(json_extract(record, '$.summary.since')) * 1000000000
        + CAST(substr(rtrim(substr(json_extract(record, '$.summary.since'), 21), 'Z') || '000000000', 1, 9) AS INTEGER)
    END) VIRTUAL;
CREATE INDEX sessions_told_since ON sessions (told_since) WHERE told_since IS NOT NULL;

-- What older versions made does not say it. It tells at least of the oldest entry
-- that is still stored, else of the last; what came before may be gone.
UPDATE sessions SET record = json_set(record, '$.summary.since', strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(
    (SELECT min(at) FROM entries
     WHERE entries.agent = sessions.agent AND entries.thread = sessions.thread
       AND entries.transcript = coalesce(json_extract(record, '$.transcript'), '')
       AND entries.seq <= json_extract(record, '$.summary.through')) / 1000000000,
    unixepoch(json_extract(record, '$.summary.said'))), 'unixepoch'))
WHERE json_valid(record) AND json_extract(record, '$.summary.through') IS NOT NULL;
