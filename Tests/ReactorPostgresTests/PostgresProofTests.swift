import Cluster
import EngineSuite
import PostgresRig
import Storage
import Synchronization
import Testing

@testable import ReactorPostgres

/// A row is visible although no standby has it: somebody has cancelled the wait of its commit. The
/// primary may be lost at any moment, and the standby put other content at that position.
@Suite(
    "ADR-0075 — what a replicated database shows is proved", .serialized,
    .timeLimit(.minutes(60)))
struct PostgresProofTests {
    private struct Pair {
        let primary: PostgresServer
        let standby: PostgresServer
    }

    /// See ``PostgresServer/waitForStandby()``.
    private static let standbys = "ANY 1 (*)"

    private static let pair = Result {
        let primary = try PostgresServer()
        let standby = try PostgresServer(standbyOf: primary, in: PostgresServer.newFolder())
        try primary.waitForStandby()
        while try primary.query("SHOW synchronous_standby_names").text(0, 0).isEmpty {}
        return Pair(primary: primary, standby: standby)
    }

    /// A read that says where the session `s` ends.
    enum Read: CaseIterable {
        case head, load, page, changes

        /// - Parameters:
        ///   - number: The end that the node knows.
        ///   - epoch: Of the session's owner.
        fileprivate func ask(
            _ node: ClusterNode, after number: UInt64, _ epoch: Int64,
            _ answer: @escaping ArchiveAnswer<UInt64?>
        ) throws {
            let archive = try #require(node.journal.archive)
            switch self {
            case .head:
                archive.head(of: "s") { answer($0.map { $0?.end.number }) }
            case .load:
                archive.load("s") { answer($0.map { $0?.end.number }) }
            case .page:
                archive.page(SessionRange(limit: 10)) { result in
                    answer(result.map { $0.first?.end.number })
                }
            case .changes:
                let known = Storage.Confirmation(
                    .of("s"), at: HistoryPosition(number), epoch: epoch)
                try node.ownership.changes(of: [known]) { result in
                    answer(result.map { $0["s"]?.head?.end.number })
                }
            }
        }
    }

    @Test(arguments: Read.allCases)
    func `a row that no standby has is shown to nobody`(read: Read) async throws {
        #expect(try await hides(read, .all))
        #expect(try await !hides(read, Rules.all.subtracting(.provesReads)))
    }

    private func hides(_ read: Read, _ rules: Rules) async throws -> Bool {
        let server = try Self.pair.get().primary
        let schema = server.newSchema()
        let owner = try ClusterNode(1, server, schema)
        let other = try ClusterNode(2, server, schema, rules: rules)
        try await owner.create("s")
        let epoch = try await owner.own("s").epoch
        let wait = try await CommitWait(
            of: owner.journal, epoch, in: schema, at: server, with: Self.standbys)
        defer { wait.end() }
        try wait.cancel()
        let (number, before) = (wait.number, wait.number - 1)
        let first = Later()
        try read.ask(other, after: before, epoch, first.give)
        while first.present == nil, try !wait.hasAnother("proofs") {}
        let isHidden = try first.present?.get() != number
        wait.end()
        #expect(await wait.pending.value == .committed)
        var shown: UInt64?
        while shown != number {
            let later = Later()
            try read.ask(other, after: before, epoch, later.give)
            shown = try? await later.value.get()
        }
        await owner.close()
        await other.close()
        return isHidden
    }

    @Test func `sessions without a change are confirmed while no standby answers`() async throws {
        let server = try Self.pair.get().primary
        let schema = server.newSchema()
        let owner = try ClusterNode(1, server, schema)
        let other = try ClusterNode(2, server, schema)
        for session in ["s", "t"] { try await owner.create(session) }
        let epoch = try await owner.own("s").epoch
        let wait = try await CommitWait(
            of: owner.journal, epoch, in: schema, at: server, with: Self.standbys)
        defer { wait.end() }
        try wait.cancel()
        let idle = Storage.Confirmation(.of("t"), at: HistoryPosition(0), epoch: 1)
        let busy = Storage.Confirmation(
            .of("s"), at: HistoryPosition(wait.number - 1), epoch: epoch)
        #expect(try await other.changes(of: idle) == [:])
        #expect(try await other.changes(of: idle, busy) == ["s": .undecided])
        // This node has never shown it: no standby may have it.
        await #expect(throws: JournalFailure.self) { try await other.journal.head("t") }
        #expect(try await other.changes(of: idle) == [:])
        wait.end()
        #expect(await wait.pending.value == .committed)
        while try await other.changes(of: idle, busy)["s"]?.head?.end.number != wait.number {}
        await owner.close()
        await other.close()
    }

    // While no standby answers, many large states would wait for seconds, and nothing counts their
    // bytes.
    @Test(arguments: [10, 100_000])
    func `a large state does not wait in memory for its proof`(bytes: Int) async throws {
        let server = try Self.pair.get().primary
        let schema = server.newSchema()
        let owner = try ClusterNode(1, server, schema)
        let other = try ClusterNode(2, server, schema)
        try await owner.create("s")
        let epoch = try await owner.own("s").epoch
        let wait = try await CommitWait(
            of: owner.journal, epoch, in: schema, at: server, with: Self.standbys)
        defer { wait.end() }
        try wait.cancel()
        try server.execute(
            """
            SET synchronous_commit = local; SET search_path = \(schema);
            INSERT INTO snapshots(session, version, number, last_action, state_version, time, state)
            SELECT session, 0, 0, 0, 1, 0, convert_to('"' || repeat('x', \(bytes)) || '"', 'UTF8')
            FROM sessions
            """)
        let archive = try #require(other.journal.archive)
        let form = Later()
        archive.load("s") { result in
            form.give(result.map { ($0?.snapshot?.stateVersion).map { UInt64($0) } })
        }
        while try !wait.hasAnother("proofs") {}
        // A state that was read before this has version 1. One that is read again has version 2.
        try server.execute(
            "SET synchronous_commit = local; UPDATE \(schema).snapshots SET state_version = 2")
        wait.end()
        // The wait ends with the next message of the standby.
        while form.present == nil {
            try server.execute(
                "SET synchronous_commit = local; SELECT pg_logical_emit_message(true, 'test', '')")
        }
        #expect(try await form.value.get() == (bytes > 65_536 ? 2 : 1))
        await owner.close()
        await other.close()
    }

    /// A part that was handed in again finds its own row, whose wait was cancelled: it is not
    /// acknowledged before a standby has it.
    @Test func `a row that is found is acknowledged once a standby has it`() async throws {
        #expect(try await isPatient(.all))
        #expect(try await !isPatient(Rules.all.subtracting(.provesReads)))
    }

    /// - Parameter rules: Tried without the commit with which a connection begins: it would wait
    ///   for the standby before the row is looked for.
    private func isPatient(_ rules: Rules) async throws -> Bool {
        let server = try Self.pair.get().primary
        let schema = server.newSchema()
        let owner = try ClusterNode(
            1, server, schema, rules: rules.subtracting(.beginsWithCommit))
        try await owner.create("s")
        let epoch = try await owner.own("s").epoch
        let wait = try await CommitWait(
            of: owner.journal, epoch, in: schema, at: server, with: Self.standbys)
        defer { wait.end() }
        try wait.cancel()
        while wait.pending.present == nil, try !wait.hasAnother() {}
        let isPatient = wait.pending.present == nil
        wait.end()
        #expect(await wait.pending.value == .committed)
        await owner.close()
        return isPatient
    }

    @Test func `only a commit that was sent after a read proves it`() async throws {
        let server = try Self.pair.get().primary
        let address = try PostgresAddress(server, server.newSchema())
        try PostgresJournal.prepare(address)
        let connector = Connector(address)
        let writer = try connector.connect("writer").connection
        let reader = try connector.connect("reader").connection
        let first = try #require(connector.reading(over: reader))
        #expect(first.needsProof)
        #expect(!connector.isProved(first), "the commits of the connections were sent before")
        try Connector.commitMessage(writer)
        let second = try #require(connector.reading(over: reader))
        #expect(connector.acknowledges(writer))
        #expect(connector.isProved(first))
        #expect(!connector.isProved(second), "the commit was sent before, and confirmed after")
        var other = first
        other.mark?.timeline += 1
        #expect(!connector.isProved(other), "it was a read of another database")
        try Connector.commitMessage(writer)
        #expect(connector.acknowledges(writer))
        #expect(connector.isProved(second))
    }
}

/// The answer to a read, which comes later.
private final class Later: Sendable {
    private let result = Mutex<Result<UInt64?, JournalFailure>?>(nil)

    var give: ArchiveAnswer<UInt64?> { { [self] result in self.result.withLock { $0 = result } } }

    var present: Result<UInt64?, JournalFailure>? { result.withLock { $0 } }

    var value: Result<UInt64?, JournalFailure> {
        get async {
            while true {
                if let present { return present }
                await Task.yield()
            }
        }
    }
}
