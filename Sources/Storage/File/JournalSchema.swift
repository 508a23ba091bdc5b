// The file of a journal, version 7. SQLite, `application_id` 0x52637472 ("Rctr").
//
//   sessions    one row for each generation of a session: its id, reactor and generation, the
//               client that has created it, if it was authenticated (`owner`), and the JSON that
//               it was created with, if any (`input`). Records up to `kept_after` (of the version
//               `kept_version`) were trimmed. A row without an id is a deleted generation; its
//               records are being removed, then the row.
//   tombstones  ids of deleted sessions, so that requests for them still get 410.
//   tail        the newest records, in the order of their commits: `place` rises by one.
//   records     records that were moved out of the tail, or skipped it because one commit had many
//               records of a session. A record may be in both for a while.
//               A row of both has a run of consecutive records of one session. `session` is a row
//               of `sessions`; `number`, `part` and `version` are the last record's. `number` is
//               the number of its position; `part` counts the notes of the action log that precede
//               the record `number`, and is 4294967295 for the record itself, so that the order of
//               the key is the order of events. `count` is the number of records in `lines`: for
//               each a line of numbers — number, part (0 for the record itself), kind (0 created,
//               1 mutation, 2 activity, 3 failure, 4 deleted, 5 note), version, action, time, and
//               the lengths in bytes of its content, its traceparent, and the name and the JSON
//               of each event sent to subscribers — and then these, end to end. Content is one
//               line of JSON.
//   snapshots   the state after the record `number`, as returned by `reduce`, in the form of the
//               reactor's `state_version`. `bytes` is the approximate number of bytes of records
//               and snapshots that the session had had by then, including this one; 0 before
//               version 3. `listens` is 1 if the session listened to sources.
//   answers     the replies to requests with an Idempotency-Key.
//   running     actions whose effects had not ended at the last commit; `begun` counts the
//               processes in succession that have begun them; `subject` is the client that has
//               sent the action, if it was authenticated. `attempt` is the number of the present
//               attempt. If `due` has a time, the action is paused: attempt `attempt` begins at
//               that time, `begun` counts the processes in succession that have ended while the
//               action ran, and `step` is the name of the step that has failed, if it has one. The
//               row of action 0 says how far the session has read its topics.
//   timers      timers that have not fired; `number` is the action that has set the timer, `due`
//               is when it is due, and `content` is the timer's own action. `begun` counts how
//               often the session was loaded when the timer was late. The row with an empty name
//               is the expiry row: the session does not expire before its `due`.
//   tags        the tags of sessions, and when each session's were last changed. The row with an
//               empty name has the reactor as its value: each session has it whose reactor declares
//               tags and whose state has changed since, or that `journal retag` has seen.
//
// All times: milliseconds since 1970 (UTC).
//
// Why a tail: a commit of 64 records of 64 sessions would touch 64 pages of a table that is ordered
// by session: 7 KB written for each record, measured, and 0.3 KB with the tail. It is moved session
// by session, which joins the rows of a session into one. Why runs: with a row for each record
// SQLite took 11 µs of processor time to write and read it; ADR-0012.
internal import GRDB

enum JournalSchema {
    static let applicationID: Int64 = 0x5263_7472
    static let version: Int64 = 7

    /// SQL for the present time in milliseconds since 1970.
    static let now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

    /// The column `part` of a record itself: after all notes that precede it.
    static let recordPart = Int64(UInt32.max)

    /// Creates missing tables, step by step, or refuses a file of another program.
    static func prepare(_ database: Database) throws {
        let present = try check(database)
        guard present < version else { return }
        try database.inTransaction(.immediate) {
            for step in migrations[Int(present)...] { try database.execute(sql: step) }
            try database.execute(sql: "PRAGMA application_id = \(applicationID)")
            try database.execute(sql: "PRAGMA user_version = \(version)")
            return .commit
        }
    }

    /// The version of the file, without changing it; 0 if it is empty.
    static func check(_ database: Database) throws -> Int64 {
        do {
            let application = try database.integer("PRAGMA application_id") ?? 0
            let present = try database.integer("PRAGMA user_version") ?? 0
            let isEmpty = try database.integer("SELECT count(*) FROM sqlite_master") == 0
            guard application == applicationID || (application == 0 && present == 0 && isEmpty)
            else { throw JournalFileFault.notAJournal }
            guard present <= version else { throw JournalFileFault.newer(Int(present)) }
            return present
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw JournalFileFault.notAJournal
        }
    }

    /// The n-th upgrades from version n to n + 1. Invariant: never changed once released.
    private static let migrations = [
        """
        CREATE TABLE sessions(
            row INTEGER PRIMARY KEY,
            id TEXT UNIQUE,
            reactor TEXT NOT NULL,
            generation TEXT NOT NULL,
            created INTEGER NOT NULL,
            kept_after INTEGER NOT NULL DEFAULT 0,
            kept_version INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX sessions_by_reactor ON sessions(reactor, id) WHERE id IS NOT NULL;
        CREATE INDEX sessions_over ON sessions(row) WHERE id IS NULL;
        CREATE TABLE tombstones(
            place INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            reactor TEXT NOT NULL,
            generation TEXT NOT NULL,
            deleted INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE tail(
            place INTEGER PRIMARY KEY,
            session INTEGER NOT NULL,
            number INTEGER NOT NULL,
            part INTEGER NOT NULL,
            version INTEGER NOT NULL,
            count INTEGER NOT NULL,
            lines TEXT NOT NULL
        ) STRICT;
        CREATE TABLE records(
            session INTEGER NOT NULL,
            number INTEGER NOT NULL,
            part INTEGER NOT NULL,
            version INTEGER NOT NULL,
            count INTEGER NOT NULL,
            lines TEXT NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX records_by_session ON records(session, number, part);
        CREATE TABLE snapshots(
            session INTEGER NOT NULL,
            version INTEGER NOT NULL,
            number INTEGER NOT NULL,
            last_action INTEGER NOT NULL,
            state_version INTEGER NOT NULL,
            time INTEGER NOT NULL,
            state TEXT NOT NULL,
            PRIMARY KEY(session, version, number)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE answers(
            session INTEGER NOT NULL,
            key TEXT NOT NULL,
            digest BLOB NOT NULL,
            status INTEGER NOT NULL,
            time INTEGER NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY(session, key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX answers_by_time ON answers(time);
        CREATE TABLE running(
            session INTEGER NOT NULL,
            action INTEGER NOT NULL,
            content TEXT NOT NULL,
            PRIMARY KEY(session, action)
        ) STRICT, WITHOUT ROWID;
        """,
        "ALTER TABLE running ADD COLUMN begun INTEGER NOT NULL DEFAULT 1;",
        "ALTER TABLE snapshots ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;",
        """
        ALTER TABLE running ADD COLUMN subject TEXT;
        ALTER TABLE sessions ADD COLUMN owner TEXT;
        """,
        """
        ALTER TABLE snapshots ADD COLUMN listens INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX snapshots_listening ON snapshots(session) WHERE listens;
        """,
        """
        ALTER TABLE sessions ADD COLUMN input TEXT;
        CREATE TABLE timers(
            session INTEGER NOT NULL,
            name TEXT NOT NULL,
            number INTEGER NOT NULL,
            due INTEGER NOT NULL,
            content TEXT NOT NULL,
            PRIMARY KEY(session, name)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX timers_by_due ON timers(due, session);
        """,
        """
        DROP INDEX timers_by_due;
        CREATE INDEX timers_by_due ON timers(due, session) WHERE name > '';
        CREATE INDEX timers_expiring ON timers(due, session) WHERE name = '';
        ALTER TABLE timers ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE running ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE running ADD COLUMN due INTEGER;
        ALTER TABLE running ADD COLUMN step TEXT;
        CREATE TABLE tags(
            session INTEGER NOT NULL,
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            changed INTEGER NOT NULL,
            PRIMARY KEY(session, name)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX tags_by_value ON tags(name, value, changed, session);
        """,
    ]
}
