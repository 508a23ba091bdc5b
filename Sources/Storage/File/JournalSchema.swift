// The file of a journal, version 1. SQLite, `application_id` 0x52637472 ("Rctr").
//
//   sessions   one row for each id: which reactor, which life (generation); `kept_after` and
//              `kept_version` say up to where its records were trimmed; `deleted` is when it was
//              deleted (a tombstone, so that the id goes on answering 410). A row without an id
//              is an older life whose records are still being removed.
//   records    what happened, in order: `number` as in positions; `part` counts the notes of the
//              action log that stand before the record `number`, and is 4294967295 for the record
//              itself, so that the order of the key is the order of events. `kind`: 0 created,
//              1 mutation, 2 activity, 3 failure, 4 deleted, 5 note. `content`: one line of JSON.
//              `events`: what subscribers were sent, a line for each: the event's name, a tab, its
//              JSON. Times here and elsewhere: milliseconds since 1970 (UTC).
//   snapshots  the state after the record `number`, as `reduce` made it, in the form of the
//              reactor's `state_version`.
//   answers    what requests with an Idempotency-Key were answered.
//   running    actions whose effects had not ended when they were last heard of.
//
// Why clustered (`WITHOUT ROWID`): every reader wants a run of one session's records, and a commit
// writes one b-tree and not two.
internal import GRDB

enum JournalSchema {
    static let applicationID: Int32 = 0x5263_7472
    static let version: Int32 = 1

    /// `part` of a record itself: behind all the notes that stand before it.
    static let recordPart = Int64(UInt32.max)

    /// Creates what is missing, step by step, or refuses a file that is not this program's.
    static func prepare(_ database: Database) throws {
        let application = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let present = try Int32.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        let isEmpty =
            try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") == 0
        guard application == applicationID || (application == 0 && isEmpty) else {
            throw JournalFileFault.notAJournal
        }
        guard present <= version else { throw JournalFileFault.newer(Int(present)) }
        guard present < version else { return }
        try database.inTransaction(.immediate) {
            for step in migrations[Int(present)...] { try database.execute(sql: step) }
            try database.execute(sql: "PRAGMA application_id = \(applicationID)")
            try database.execute(sql: "PRAGMA user_version = \(version)")
            return .commit
        }
    }

    /// The n-th brings a file of version n to version n + 1. Law: never changed once released.
    private static let migrations = [
        """
        CREATE TABLE sessions(
            row INTEGER PRIMARY KEY,
            id TEXT UNIQUE,
            reactor TEXT NOT NULL,
            generation TEXT NOT NULL,
            created INTEGER NOT NULL,
            deleted INTEGER,
            kept_after INTEGER NOT NULL DEFAULT 0,
            kept_version INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE TABLE records(
            session INTEGER NOT NULL,
            number INTEGER NOT NULL,
            part INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            version INTEGER NOT NULL,
            action INTEGER NOT NULL,
            time INTEGER NOT NULL,
            content TEXT NOT NULL,
            events TEXT,
            traceparent TEXT,
            PRIMARY KEY(session, number, part)
        ) STRICT, WITHOUT ROWID;
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
        """
    ]
}

/// Why a file can't be used as a journal.
package enum JournalFileFault: Error, Sendable, Equatable {
    /// It is something else, and is left alone.
    case notAJournal
    /// A later version of this program wrote it.
    case newer(Int)
    /// Another process uses it; its id, if it said so.
    case locked(by: Int32?)
    /// The system refuses it.
    case unusable(String)

    /// One sentence about the file.
    package func sentence(_ path: String) -> String {
        switch self {
        case .notAJournal: "\(path) is not a journal of this program; it was left as it is"
        case .newer(let version):
            "\(path) has version \(version) of the journal's form; this program knows up to "
                + "\(JournalSchema.version)"
        case .locked(let process):
            "\(path) is in use by another process\(process.map { " (\($0))" } ?? "")"
        case .unusable(let reason): "\(path) can't be used as a journal: \(reason)"
        }
    }
}
