import Cluster
import EngineSuite
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

@Suite("PostgreSQL keeps what every journal promises", .timeLimit(.minutes(60)))
struct PostgresEngineTests {
    private final class OpenPostgres: OpenEngine {
        private let server: PostgresServer
        private let schema: String
        private var present: PostgresJournal
        var journal: any Journal { present }

        init(_ server: PostgresServer) throws {
            (self.server, schema) = (server, server.newSchema())
            present = try Self.open(server, schema)
        }

        func reopen() async throws {
            await present.close()
            try server.waitForEnd(of: schema)
            present = try Self.open(server, schema)
        }

        private static func open(
            _ server: PostgresServer, _ schema: String
        ) throws -> PostgresJournal {
            try PostgresJournal(
                PostgresAddress(server, schema), commitLimit: .seconds(600),
                rules: .all.subtracting(.writesTimes), looksEvery: nil)
        }
    }

    @Test(arguments: EngineCase.all)
    func `PostgreSQL`(keeps promise: EngineCase) async throws {
        let server = try PostgresServer.shared.get()
        try await promise.check(
            Engine("postgres", hasOtherWriters: true) { try OpenPostgres(server) })
    }

    /// A node of a cluster that owns all sessions of a test: it has created them.
    private final class OpenNode: OpenEngine {
        private let address: PostgresAddress
        private var present: PostgresJournal
        var journal: any Journal { OwnersJournal(journal: present) }

        init(_ server: PostgresServer) throws {
            address = try PostgresAddress(server, server.newSchema())
            present = try Self.open(address)
        }

        func reopen() async throws {
            await present.close()
            present = try Self.open(address)
        }

        private static func open(_ address: PostgresAddress) throws -> PostgresJournal {
            let member = Member(node: Node(number: 7), address: "10.0.0.1:7080", loops: 1)
            return try PostgresJournal(
                address, member: member, lease: .seconds(3_600), commitLimit: .seconds(600),
                rules: .all.subtracting(.writesTimes), looksEvery: nil)
        }
    }

    /// Adds the epoch to batches that name none.
    private struct OwnersJournal: Journal {
        let journal: PostgresJournal

        var name: String { journal.name }
        var archive: (any Archive)? { journal.archive }
        var failure: JournalFailure? { journal.failure }
        var ownership: (any Ownership)? { journal.ownership }

        func commit(_ batch: Batch, ended: @escaping @Sendable (Verdict) -> Void) -> Commit {
            var batch = batch
            for index in batch.runs.indices where batch.runs[index].created == nil {
                batch.runs[index].epoch = 1
            }
            for index in batch.expected.indices { batch.expected[index].epoch = 1 }
            return journal.commit(batch, ended: ended)
        }
    }

    @Test(arguments: EngineCase.all)
    func `a node of a cluster`(keeps promise: EngineCase) async throws {
        let server = try PostgresServer.shared.get()
        try await promise.check(
            Engine("a node", hasOtherWriters: true) { try OpenNode(server) })
    }
}
