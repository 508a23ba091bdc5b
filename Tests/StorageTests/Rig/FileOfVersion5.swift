/// A journal's file of version 5, as `.dump` of SQLite shows it. The server was killed:
/// `noted` has three actions with keys, an effect of `running` has not ended, `listening` has a
/// source, `fresh` is only created, and `gone` was deleted.
enum FileOfVersion5 {
    static let sql = #"""
        CREATE TABLE sessions(
            row INTEGER PRIMARY KEY,
            id TEXT UNIQUE,
            reactor TEXT NOT NULL,
            generation TEXT NOT NULL,
            created INTEGER NOT NULL,
            kept_after INTEGER NOT NULL DEFAULT 0,
            kept_version INTEGER NOT NULL DEFAULT 0
        , owner TEXT) STRICT;
        INSERT INTO sessions VALUES(1,'noted','errands','k6ryybk5',1795890752199,0,0,NULL);
        INSERT INTO sessions VALUES(2,'running','errands','1hj1b4qe',1795890752367,0,0,NULL);
        INSERT INTO sessions VALUES(3,'fresh','pulses','i4s3136a',1795890752439,0,0,NULL);
        INSERT INTO sessions VALUES(4,'listening','listening','vffbzr7s',1795890752531,0,0,NULL);
        INSERT INTO sessions VALUES(5,NULL,'pulses','eiflll1w',1795890752571,0,0,NULL);
        CREATE TABLE tombstones(
            place INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            reactor TEXT NOT NULL,
            generation TEXT NOT NULL,
            deleted INTEGER NOT NULL
        ) STRICT;
        INSERT INTO tombstones VALUES(1,'gone','pulses','eiflll1w',1795890752587);
        CREATE TABLE tail(
            place INTEGER PRIMARY KEY,
            session INTEGER NOT NULL,
            number INTEGER NOT NULL,
            part INTEGER NOT NULL,
            version INTEGER NOT NULL,
            count INTEGER NOT NULL,
            lines TEXT NOT NULL
        ) STRICT;
        INSERT INTO tail VALUES(1,1,0,4294967295,0,1,replace(
            '0 0 0 0 0 1795890752199 0 0\n' ||
            '\n', '\n', char(10)));
        INSERT INTO tail VALUES(2,1,1,4294967295,1,2,replace(
            '1 1 5 0 1 1795890752247 88 0\n' ||
            '{"kind":"action.received","content":{"received":{"type":"note","text":' ||
            '"n1"},"key":"k1"}}\n' ||
            '1 0 1 1 1 1795890752247 28 0\n' ||
            '{"type":"noted","text":"n1"}\n', '\n', char(10)));
        INSERT INTO tail VALUES(3,1,2,4294967295,2,2,replace(
            '2 1 5 1 2 1795890752295 88 0\n' ||
            '{"kind":"action.received","content":{"received":{"type":"note","text":' ||
            '"n2"},"key":"k2"}}\n' ||
            '2 0 1 2 2 1795890752295 28 0\n' ||
            '{"type":"noted","text":"n2"}\n', '\n', char(10)));
        INSERT INTO tail VALUES(4,1,3,4294967295,3,2,replace(
            '3 1 5 2 3 1795890752323 88 0\n' ||
            '{"kind":"action.received","content":{"received":{"type":"note","text":' ||
            '"n3"},"key":"k3"}}\n' ||
            '3 0 1 3 3 1795890752323 28 0\n' ||
            '{"type":"noted","text":"n3"}\n', '\n', char(10)));
        INSERT INTO tail VALUES(5,2,0,4294967295,0,1,replace(
            '0 0 0 0 0 1795890752367 0 0\n' ||
            '\n', '\n', char(10)));
        INSERT INTO tail VALUES(6,2,1,2,0,2,replace(
            '1 1 5 0 1 1795890752395 80 0\n' ||
            '{"kind":"action.received","content":{"received":{"type":"search","text' ||
            '":"pen"}}}\n' ||
            '1 2 5 0 1 1795890752395 60 0\n' ||
            '{"kind":"effect.started","content":{"step":1,"id":"search"}}\n', '\n', char(10)));
        INSERT INTO tail VALUES(7,3,0,4294967295,0,1,replace(
            '0 0 0 0 0 1795890752439 0 0\n' ||
            '\n', '\n', char(10)));
        INSERT INTO tail VALUES(8,4,0,4294967295,0,1,replace(
            '0 0 0 0 0 1795890752531 0 0\n' ||
            '\n', '\n', char(10)));
        INSERT INTO tail VALUES(9,5,0,4294967295,0,1,replace(
            '0 0 0 0 0 1795890752571 0 0\n' ||
            '\n', '\n', char(10)));
        INSERT INTO tail VALUES(10,5,1,4294967295,0,1,replace(
            '1 0 4 0 0 1795890752587 0 0\n' ||
            '\n', '\n', char(10)));
        CREATE TABLE records(
            session INTEGER NOT NULL,
            number INTEGER NOT NULL,
            part INTEGER NOT NULL,
            version INTEGER NOT NULL,
            count INTEGER NOT NULL,
            lines TEXT NOT NULL
        ) STRICT;
        CREATE TABLE snapshots(
            session INTEGER NOT NULL,
            version INTEGER NOT NULL,
            number INTEGER NOT NULL,
            last_action INTEGER NOT NULL,
            state_version INTEGER NOT NULL,
            time INTEGER NOT NULL,
            state TEXT NOT NULL,
            bytes INTEGER NOT NULL DEFAULT 0, listens INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY(session, version, number)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO snapshots VALUES(1,0,0,0,1,1795890752199,
            '{"notes":[],"found":[],"route":"home"}',67,0);
        INSERT INTO snapshots VALUES(2,0,0,0,1,1795890752367,
            '{"notes":[],"found":[],"route":"home"}',67,0);
        INSERT INTO snapshots VALUES(3,0,0,0,1,1795890752439,
            '{"value":0,"greeting":"Hello tokijh","text":null,"items":[],"a":null,"' ||
            'b":null,"plain":0}',117,0);
        INSERT INTO snapshots VALUES(4,0,0,0,1,1795890752531,'{"count":0}',40,1);
        INSERT INTO snapshots VALUES(5,0,0,0,1,1795890752571,
            '{"value":0,"greeting":"Hello tokijh","text":null,"items":[],"a":null,"' ||
            'b":null,"plain":0}',117,0);
        CREATE TABLE answers(
            session INTEGER NOT NULL,
            key TEXT NOT NULL,
            digest BLOB NOT NULL,
            status INTEGER NOT NULL,
            time INTEGER NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY(session, key)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO answers VALUES(1,'k1',X'81f8d316ad20f0bfa8f6caea52620959',200,
            1795890752247, replace(
            '{"version":1,"position":"k6ryybk5.1"}\n', '\n', char(10)));
        INSERT INTO answers VALUES(1,'k2',X'81f8e0b67420f0bfa8f6caea57f813a4',200,
            1795890752295, replace(
            '{"version":2,"position":"k6ryybk5.2"}\n', '\n', char(10)));
        INSERT INTO answers VALUES(1,'k3',X'81f8dc21db20f0bfa8f6caea5615244b',200,
            1795890752323, replace(
            '{"version":3,"position":"k6ryybk5.3"}\n', '\n', char(10)));
        CREATE TABLE running(
            session INTEGER NOT NULL,
            action INTEGER NOT NULL,
            content TEXT NOT NULL, begun INTEGER NOT NULL DEFAULT 1, subject TEXT,
            PRIMARY KEY(session, action)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO running VALUES(2,1,'{"type":"search","text":"pen"}',1,NULL);
        CREATE TABLE mark(text TEXT NOT NULL) STRICT;
        INSERT INTO mark VALUES('e871f4616b3c04a79bb684fb70f74354');
        CREATE INDEX sessions_by_reactor ON sessions(reactor, id) WHERE id IS NOT NULL;
        CREATE INDEX sessions_over ON sessions(row) WHERE id IS NULL;
        CREATE UNIQUE INDEX records_by_session ON records(session, number, part);
        CREATE INDEX answers_by_time ON answers(time);
        CREATE INDEX snapshots_listening ON snapshots(session) WHERE listens;
        PRAGMA application_id = 1382249586;
        PRAGMA user_version = 5;
        """#
}
