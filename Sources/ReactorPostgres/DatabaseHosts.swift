internal import Cluster
internal import Dispatch
internal import Synchronization

/// Finds the host of an address whose database is believed.
///
/// Design: libpq takes the first host that accepts writes, perhaps a former primary that still
/// runs. So all hosts are asked at the same time, and the one with the newest history is taken; see
/// ``DatabaseBelief``. Its choice holds for a moment, for connections that are made at once. A
/// single host is left to libpq.
final class DatabaseHosts: Sendable {
    typealias Host = [(name: String, value: String)]

    private let address: PostgresAddress
    /// Why a queue: of several callers the first one asks, and the others wait for its answer.
    private let queue = DispatchQueue(label: "journal.postgres.hosts")
    private let state = Mutex(State())

    private struct State {
        /// Nil before the first look at the address.
        var hosts: [Host]?
        var chosen: (index: Int, at: ContinuousClock.Instant)?
        /// The last look at the hosts, if none of them could be chosen.
        var failed: (fault: PostgresFault, at: ContinuousClock.Instant)?
    }

    /// How long a choice holds.
    private static let freshness = Duration.seconds(1)
    /// More hosts than this are left to libpq: each is a connection at the same time.
    private static let hostLimit = 16

    init(_ address: PostgresAddress) { self.address = address }

    private var hosts: [Host] {
        state.withLock { state in
            if let hosts = state.hosts { return hosts }
            let found = Self.hosts(of: address)
            state.hosts = found
            return found
        }
    }

    func forgetChoice() { state.withLock { ($0.chosen, $0.failed) = (nil, nil) } }

    // MARK: Connecting

    /// Connects to the host with the newest history.
    ///
    /// - Parameters:
    ///   - belief: As of a moment before.
    ///   - heard: Gets each other host's mark, and the newest of all if no writable host has it.
    func connect(
        _ belief: DatabaseBelief, heard: (DatabaseMark) -> Void
    ) throws(PostgresFault) -> Connection {
        let hosts = hosts
        guard hosts.count > 1 else { return try Connection(address.parameters) }
        return try queue.sync {
            Result { () throws(PostgresFault) in try choose(among: hosts, belief, heard) }
        }.get()
    }

    private func choose(
        among hosts: [Host], _ belief: DatabaseBelief, _ heard: (DatabaseMark) -> Void
    ) throws(PostgresFault) -> Connection {
        if let chosen = state.withLock({ $0.chosen }),
            ContinuousClock.now - chosen.at < Self.freshness,
            let connection = try? Connection(hosts[chosen.index])
        {
            return connection
        }
        // Callers must not ask hosts that do not answer one after the other.
        if let failed = state.withLock({ $0.failed }),
            ContinuousClock.now - failed.at < Self.freshness
        {
            throw failed.fault
        }
        do throws(PostgresFault) {
            let (index, connection) = try chooseAnew(among: hosts, belief, heard)
            state.withLock { state in
                (state.chosen, state.failed) = ((index, ContinuousClock.now), nil)
            }
            return connection
        } catch {
            state.withLock { $0.failed = (error, ContinuousClock.now) }
            throw error
        }
    }

    private func chooseAnew(
        among hosts: [Host], _ belief: DatabaseBelief, _ heard: (DatabaseMark) -> Void
    ) throws(PostgresFault) -> (index: Int, Connection) {
        let answers = ask(hosts)
        switch belief.choose(among: answers.map { $0.sight }) {
        case .take(let index):
            if let connection = answers[index].connection {
                let mark = answers[index].sight?.mark
                for other in answers.compactMap({ $0.sight?.mark }) where other != mark {
                    heard(other)
                }
                return (index, connection)
            }
        case .behind(let mark):
            heard(mark)
            throw .behind(mark)
        case .severalJournals:
            throw .refused(
                "the hosts of the address have different journals: name a primary and its "
                    + "standbys only")
        case .none: break
        }
        throw answers.compactMap(\.fault).first
            ?? PostgresFault(message: "no host of the address accepts writes", isBroken: true)
    }

    /// The marks that the hosts show, the newest one first. Empty for an address with one host.
    func marks() -> [DatabaseMark] {
        let hosts = hosts
        guard hosts.count > 1 else { return [] }
        let marks = ask(hosts).compactMap { $0.sight?.mark }
        let newest = DatabaseMark.newest(marks)
        return marks.filter { $0 == newest } + marks.filter { $0 != newest }
    }

    // MARK: Asking

    private struct Answer {
        var connection: Connection?
        var sight: DatabaseBelief.Sight?
        var fault: PostgresFault?
    }

    /// Blocks for as long as the slowest of them may take to connect.
    private func ask(_ hosts: [Host]) -> [Answer] {
        let (answers, group) = (Answers(hosts.count), DispatchGroup())
        for (index, host) in hosts.enumerated() {
            DispatchQueue(label: "journal.postgres.host").async(group: group) { [address] in
                let answer = UncheckedAnswer(answer: Self.ask(host, address.schema))
                answers.all.withLock { $0[index] = answer.answer }
            }
        }
        group.wait()
        return answers.all.withLock { $0 }
    }

    private static func ask(_ host: Host, _ schema: String) -> Answer {
        var answer = Answer()
        do throws(PostgresFault) {
            let connection = try Connection(host + [("target_session_attrs", "any")])
            answer.sight = try DatabaseBelief.Sight(of: connection, schema)
            answer.connection = connection
        } catch {
            answer.fault = error
        }
        return answer
    }

    private final class Answers: Sendable {
        let all: Mutex<[Answer]>

        init(_ count: Int) { all = Mutex([Answer](repeating: Answer(), count: count)) }
    }

    /// Queues use a connection one after the other, never at the same time.
    private struct UncheckedAnswer: @unchecked Sendable {
        let answer: Answer
    }

    /// The hosts of an address, as libpq reads it with its services and variables. Empty for an
    /// address with one host, or one that libpq cannot read.
    ///
    /// Why all parameters: an empty one does not override the list of the address.
    static func hosts(of address: PostgresAddress) -> [Host] {
        let options = Connection.options(address.parameters)
        func items(_ name: String) -> [String] {
            (options[name] ?? "").split(separator: ",", omittingEmptySubsequences: false)
                .map(String.init)
        }
        let (names, addresses, ports) = (items("host"), items("hostaddr"), items("port"))
        let count = max(names.count, addresses.count)
        guard (2...hostLimit).contains(count) else { return [] }
        let lists = [("host", names), ("hostaddr", addresses), ("port", ports)]
        let shared = options.filter { option in !lists.contains { $0.0 == option.key } }
            .sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        return (0..<count).map { index in
            shared
                + lists.compactMap { name, all in
                    let item = all.count == count ? all[index] : all.count == 1 ? all[0] : ""
                    return item.isEmpty ? nil : (name: name, value: item)
                }
        }
    }
}

extension DatabaseBelief.Sight {
    /// Leaves the server's settings, because a pooler may be in between.
    init(of connection: Connection, _ schema: String) throws(PostgresFault) {
        let found = try connection.ask(
            """
            SELECT pg_is_in_recovery(), to_regclass('\(schema).cluster') IS NOT NULL
            """, within: Connector.limit)
        let isStandby = found.bool(0, 0)
        guard found.bool(0, 1) else {
            self.init(nil, isWritable: !isStandby)
            return
        }
        // A standby returns what it has received. Tables of an earlier version have no branch.
        let row = try connection.ask(
            """
            SELECT c.identity, c.era, c.timeline,
                CASE WHEN pg_is_in_recovery() THEN c.timeline
                    ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END,
                coalesce((to_jsonb(c)->>'branch')::bigint, 0)
            FROM \(schema).cluster c
            """, within: Connector.limit)
        guard row.count > 0 else {
            self.init(nil, isWritable: !isStandby)
            return
        }
        let mark = DatabaseMark(
            identity: row.text(0, 0), era: row.integer(0, 1, in: Era.range),
            timeline: row.text(0, 3),
            branch: row.text(0, 2) == row.text(0, 3) ? row.integer(0, 4) : 0)
        self.init(mark, isWritable: !isStandby)
    }
}

extension DatabaseMark {
    /// - Parameters:
    ///   - timeline: As PostgreSQL writes it, in hexadecimal.
    ///   - branch: 0 if no node has connected to the timeline yet.
    init(identity: String, era: Int64, timeline: String, branch: Int64) {
        // FNV-1a, with an offset that no identity maps to 0.
        let hash = identity.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        self.init(
            journal: max(1, Int64(hash >> 1)), era: era, timeline: Int64(timeline, radix: 16) ?? 0,
            branch: branch)
    }
}
