import EngineSuite
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

@Suite("PostgreSQL keeps what every journal promises", .timeLimit(.minutes(15)))
struct PostgresEngineTests {
    private final class OpenPostgres: OpenEngine {
        private let address: PostgresAddress
        private var present: PostgresJournal
        var journal: any Journal { present }

        init(_ server: PostgresServer) throws {
            address = try PostgresAddress(server, server.newSchema())
            present = try PostgresJournal(address, looksEvery: nil)
        }

        func reopen() async throws {
            await present.close()
            present = try PostgresJournal(address, looksEvery: nil)
        }
    }

    @Test(arguments: EngineCase.all)
    func `PostgreSQL`(keeps promise: EngineCase) async throws {
        let server = try PostgresServer.shared.get()
        try await promise.check(
            Engine("postgres", hasOtherWriters: true) { try OpenPostgres(server) })
    }
}
