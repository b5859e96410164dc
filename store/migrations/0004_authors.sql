-- Who wrote an entry, and as which message, so that it can be found when it is
-- to be forgotten. What older versions stored has neither.
ALTER TABLE entries ADD COLUMN author TEXT GENERATED ALWAYS AS (json_extract(entry, '$.author')) VIRTUAL;
ALTER TABLE entries ADD COLUMN inbox TEXT GENERATED ALWAYS AS (json_extract(entry, '$.inbox')) VIRTUAL;
CREATE INDEX entries_by_author ON entries (author) WHERE author IS NOT NULL;
CREATE INDEX entries_by_inbox ON entries (inbox) WHERE inbox IS NOT NULL;
CREATE INDEX heard_by_author ON heard (author);
