-- What is removed once it is too old is found by its age. Documents have their
-- times as text; the zero time becomes NULL and is never too old.
ALTER TABLE entries ADD COLUMN at INTEGER;
UPDATE entries SET at = unixepoch(json_extract(entry, '$.at')) * 1000000000
WHERE json_extract(entry, '$.at') BETWEEN '1700' AND '2200';
CREATE INDEX entries_by_age ON entries (at) WHERE at IS NOT NULL;

ALTER TABLE turns ADD COLUMN at INTEGER;
UPDATE turns SET at = unixepoch(json_extract(turn, '$.started')) * 1000000000
WHERE json_extract(turn, '$.started') BETWEEN '1700' AND '2200';
CREATE INDEX turns_by_age ON turns (at) WHERE at IS NOT NULL;

CREATE INDEX inbox_by_age ON inbox (at) WHERE settled = 1;
CREATE INDEX delivery_by_age ON delivery (settled) WHERE settled IS NOT NULL;
