-- Where each author was heard last. The holder is the key of the place that
-- holds the thread; place is the thread's address as JSON.
CREATE TABLE heard (
    agent    TEXT    NOT NULL,
    thread   TEXT    NOT NULL,
    author   TEXT    NOT NULL,
    platform TEXT    NOT NULL,
    account  TEXT    NOT NULL,
    holder   TEXT    NOT NULL,
    at       INTEGER,
    place    TEXT    NOT NULL,
    PRIMARY KEY (agent, thread, author)
) STRICT;
CREATE INDEX heard_lately ON heard (platform, account, at);

-- What older versions know: the last turn of a session has its place, and the
-- inbox has the time. Who spoke there, and in which channel, comes with the next
-- message.
INSERT INTO heard
SELECT agent, thread, '', json_extract(record, '$.target.thread.platform'), json_extract(record, '$.target.thread.account'), '',
       (SELECT max(at) FROM inbox WHERE inbox.agent = sessions.agent AND inbox.thread = sessions.thread),
       json_extract(record, '$.target.thread')
FROM sessions
WHERE json_extract(record, '$.target.thread.platform') IS NOT NULL
  AND json_extract(record, '$.target.thread.account') IS NOT NULL;

-- People who wrote directly and are named nowhere in the configuration.
CREATE TABLE guests (
    platform TEXT NOT NULL,
    account  TEXT NOT NULL,
    user     TEXT NOT NULL,
    guest    TEXT NOT NULL,
    PRIMARY KEY (platform, account, user)
) STRICT;
