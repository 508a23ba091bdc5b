internal import Storage

/// The tables of a journal, in a schema of its own.
///
/// A row of `runs` has a run of records, keyed by the position that it continues. Two that continue
/// one position collide; a key of where a run ends would fork when two racing runs differ in
/// length. Nothing is updated in place for an append: while somebody holds a snapshot open, the
/// dead versions of a counter in a row make each append slower than the last (ADR-0047).
enum Schema {
    static let version: Int64 = 7

    /// The database's time in milliseconds since 1970; no node's clock matters.
    static let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    /// No table has this object id. If it is stored as that of `cluster`, the database was
    /// restored.
    static let restoredTable: Int64 = 1

    /// The part that stands for a record: notes precede the record of their number.
    static let recordPart: Int64 = 4_294_967_295

    /// The position that a creation continues.
    static let beginning: (number: Int64, part: Int64) = (-1, recordPart)

    /// Whether a name needs no quotes, and is none of PostgreSQL's own.
    static func isValid(name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= 63, !name.hasPrefix("pg_") else {
            return false
        }
        let isLetter = { (byte: UInt8) in byte == 0x5F || (0x61...0x7A).contains(byte) }
        return isLetter(first)
            && name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) }
    }

    /// Makes the tables, or brings them up to date. Several processes may do it at once. Throws
    /// ``PostgresFault``: nodes of an earlier release use the tables.
    static func prepare(
        _ schema: String, _ connection: Connection
    ) throws(PostgresFault) {
        let limit = Duration.seconds(60)
        try connection.execute(
            """
            SET client_min_messages = error; BEGIN;
            SELECT pg_advisory_xact_lock(hashtext('reactor ' || '\(schema)'))
            """, within: limit)
        let exists = try connection.run(
            "SELECT to_regclass('\(schema).cluster') IS NOT NULL", within: limit
        ).bool(0, 0)
        var present: Int64 = 0
        if exists {
            present = try connection.run("SELECT version FROM \(schema).cluster", within: limit)
                .integer(0, 0, in: 0...(.max))
        }
        guard present < version else { return try connection.execute("COMMIT", within: limit) }
        if present >= firstWithNodes { try refuseMembers(schema, connection) }
        if present > 0 { try refuseServer(schema, connection) }
        for step in migrations[Int(present)...] {
            try connection.execute(
                "CREATE SCHEMA IF NOT EXISTS \(schema); SET LOCAL search_path = \(schema); \(step)",
                within: limit)
        }
        try connection.execute(
            "UPDATE \(schema).cluster SET version = \(version); COMMIT", within: limit)
    }

    /// Nodes of an earlier release ignore both a newer database and the locks of other servers.
    private static func refuseMembers(
        _ schema: String, _ connection: Connection
    ) throws(PostgresFault) {
        let found = try connection.run(
            """
            SELECT n.address FROM \(schema).nodes n WHERE \(Membership.isMember)
            ORDER BY n.address LIMIT 1
            """, within: Connector.limit)
        guard found.count > 0 else { return }
        throw .refused(
            "nodes of an earlier release use this journal, one of them at "
                + "\(found.text(0, 0)): stop them all before the first of this release starts")
    }

    /// A server of an earlier release without a link holds no lock. Its connections have a name.
    private static func refuseServer(
        _ schema: String, _ connection: Connection
    ) throws(PostgresFault) {
        let found = try connection.run(
            """
            SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
                AND pid <> pg_backend_pid() AND starts_with(application_name, '\(schema)/') LIMIT 1
            """, within: Connector.limit)
        guard found.count > 0 else { return }
        throw PostgresFault(
            state: UsageLock.occupiedState,
            message: "a server of an earlier release uses this journal: stop it first",
            isBroken: false)
    }

    /// The version from which on there is the table `nodes`.
    private static let firstWithNodes: Int64 = 2

    /// The n-th upgrades tables of version n to n + 1. Invariant: never changed once released.
    ///
    ///   cluster    one row. `identity` is random: another one is another journal. `era` counts the
    ///              losses of the database's history; `timeline` and `system` are PostgreSQL's.
    ///              `touched` is what a new connection commits. From version 4 on `branch` is a
    ///              number for each server that was promoted, drawn with the first connection;
    ///              `table_oid` is the object id of the table itself, which a restored dump has
    ///              not; `adopted` is when the branch was drawn.
    ///   sessions   one row for each id that is used or was deleted; `session` changes when an id
    ///              is used again. Records up to `kept_number` (of the version `kept_version`) were
    ///              trimmed. `owner` is the client that has created the session; `input`, from
    ///              version 6 on, is the JSON that it was created with, if any. `node` is the node
    ///              that owns it, from version 2 on; `epoch` counts the changes of it, and `taken`
    ///              is when it was last changed against the will of the node before.
    ///   runs       consecutive records of a session, from the position `after_…` to the position
    ///              `number`, `part`. `part` counts the notes that precede the record `number`, and
    ///              is 4294967295 for the record itself. `lines` as in a file, described in
    ///              HistoryCodec. `writer` and `batch` recognise the writer.
    ///   snapshots  the state after the record `number`. `bytes`: of the records and snapshots up
    ///              to it, once they were counted. `listens`, from version 3 on: whether the
    ///              session listened to sources.
    ///   answers    the replies to requests with an Idempotency-Key.
    ///   running    actions whose effects had not ended at the last commit. The row of action 0
    ///              says how far the session has read its topics. Since version 7 `attempt` is the
    ///              number of the present attempt. If `due` has a time, the action is paused:
    ///              attempt `attempt` begins at that time, `begun` counts the processes in
    ///              succession that have ended while the action ran, and `step` is the name of the
    ///              step that has failed, if it has one.
    ///   timers     since version 6: timers that have not fired; `number` is the action that has
    ///              set the timer, `due` is when it is due. Since version 7 `begun` counts how
    ///              often the session was loaded when the timer was late. Since version 7 the row
    ///              with an empty name is the expiry row: the session does not expire before its
    ///              `due`.
    ///   tags       since version 7: the tags of sessions, and when each session's were last
    ///              changed. The row with an empty name has the reactor as its value.
    ///   removals   sessions that were deleted, and whose other rows are being removed.
    ///   nodes      one row for each node, since version 2; see Membership. Of its reactors the
    ///              names and the versions of their states; `lease` in milliseconds.
    ///   branches   since version 5: the branches of the present era that this one continues, and
    ///              the position in the log at which each was left; see Lineage.
    ///   depositions  sessions that another node has taken from `node`, until that has read it.
    ///
    /// All times that are no timestamps: milliseconds since 1970 (UTC).
    private static let migrations = [
        """
        CREATE TABLE cluster(
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton), version bigint NOT NULL,
            identity text NOT NULL, system text NOT NULL DEFAULT '',
            timeline text NOT NULL DEFAULT '', era bigint NOT NULL,
            is_synchronous boolean NOT NULL DEFAULT false, touched bigint NOT NULL DEFAULT 0)
            WITH (fillfactor = 20);
        INSERT INTO cluster(version, identity, era)
            VALUES(0, md5(random()::text || clock_timestamp()::text), 1);
        CREATE TABLE sessions(
            session bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            id text COLLATE "C" NOT NULL UNIQUE, reactor text COLLATE "C" NOT NULL,
            generation text NOT NULL, created bigint NOT NULL, owner text, deleted bigint,
            kept_number bigint NOT NULL DEFAULT 0, kept_version bigint NOT NULL DEFAULT 0)
            WITH (fillfactor = 80);
        CREATE INDEX sessions_living ON sessions(id) WHERE deleted IS NULL;
        CREATE INDEX sessions_by_reactor ON sessions(reactor, id) WHERE deleted IS NULL;
        CREATE INDEX sessions_deleted ON sessions(deleted) WHERE deleted IS NOT NULL;
        CREATE TABLE runs(
            session bigint NOT NULL, after_number bigint NOT NULL, after_part bigint NOT NULL,
            number bigint NOT NULL, part bigint NOT NULL, version bigint NOT NULL,
            count bigint NOT NULL, writer bigint NOT NULL, batch bigint NOT NULL,
            lines bytea NOT NULL, PRIMARY KEY(session, after_number, after_part))
            WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
        ALTER TABLE runs ALTER lines SET STORAGE EXTERNAL;
        CREATE TABLE snapshots(
            session bigint NOT NULL, version bigint NOT NULL, number bigint NOT NULL,
            last_action bigint NOT NULL, state_version bigint NOT NULL, time bigint NOT NULL,
            bytes bigint, state bytea NOT NULL, PRIMARY KEY(session, version, number));
        CREATE TABLE answers(
            session bigint NOT NULL, key text COLLATE "C" NOT NULL, digest bytea NOT NULL,
            status bigint NOT NULL, time bigint NOT NULL, body bytea NOT NULL,
            PRIMARY KEY(session, key));
        CREATE INDEX answers_by_time ON answers(time);
        CREATE TABLE running(
            session bigint NOT NULL, action bigint NOT NULL, content bytea NOT NULL,
            begun bigint NOT NULL, subject text, PRIMARY KEY(session, action));
        CREATE TABLE removals(
            session bigint PRIMARY KEY, queued timestamptz NOT NULL DEFAULT clock_timestamp());
        """,
        // Without an index on `node`: a claim changes no index.
        """
        ALTER TABLE sessions ADD node bigint, ADD epoch bigint NOT NULL DEFAULT 1,
            ADD taken timestamptz;
        CREATE TABLE nodes(
            node bigint PRIMARY KEY, address text NOT NULL, loops bigint NOT NULL,
            reactors text[] NOT NULL, state_versions bigint[] NOT NULL, lease bigint NOT NULL,
            is_leaving boolean NOT NULL DEFAULT false,
            seen timestamptz NOT NULL DEFAULT clock_timestamp()) WITH (fillfactor = 20);
        CREATE TABLE depositions(
            node bigint NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY, id text NOT NULL,
            generation text NOT NULL, epoch bigint NOT NULL,
            taken timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY(node, number));
        """,
        """
        ALTER TABLE snapshots ADD listens boolean NOT NULL DEFAULT false;
        CREATE INDEX snapshots_listening ON snapshots(session) WHERE listens;
        """,
        """
        ALTER TABLE cluster ADD branch bigint NOT NULL DEFAULT 0,
            ADD table_oid bigint NOT NULL DEFAULT 0, ADD adopted timestamptz;
        CREATE INDEX sessions_by_owner ON sessions(owner)
            WHERE deleted IS NULL AND owner IS NOT NULL;
        """,
        "CREATE TABLE branches(branch bigint PRIMARY KEY, ended bigint NOT NULL)",
        """
        ALTER TABLE sessions ADD input bytea;
        CREATE TABLE timers(
            session bigint NOT NULL, name text COLLATE "C" NOT NULL, number bigint NOT NULL,
            due bigint NOT NULL, content bytea NOT NULL, PRIMARY KEY(session, name));
        CREATE INDEX timers_by_due ON timers(due, session);
        """,
        """
        DROP INDEX timers_by_due;
        CREATE INDEX timers_by_due ON timers(due, session) WHERE name > '';
        CREATE INDEX timers_expiring ON timers(due, session) WHERE name = '';
        ALTER TABLE timers ADD begun bigint NOT NULL DEFAULT 0;
        ALTER TABLE running ADD attempt bigint NOT NULL DEFAULT 1, ADD due bigint,
            ADD step text;
        CREATE TABLE tags(
            session bigint NOT NULL, name text COLLATE "C" NOT NULL,
            value text COLLATE "C" NOT NULL, changed bigint NOT NULL, PRIMARY KEY(session, name));
        CREATE INDEX tags_by_value ON tags(name, value, changed, session);
        """,
    ]
}

extension HistoryPosition {
    var column: (number: Int64, part: Int64) {
        (Int64(clamping: number), part == 0 ? Schema.recordPart : Int64(part))
    }

    /// Values that no append writes become the nearest position that there can be, so that a
    /// damaged row ends no process. Its history is found damaged where it is read.
    init(column number: Int64, _ part: Int64) {
        let number = min(UInt64(max(0, number)), Self.limit - 1)
        let isRecord = part == Schema.recordPart || number == 0
        self.init(number, part: isRecord ? 0 : min(UInt32(clamping: part), .max - 1))
    }
}
