import PostgresRig
import Storage
import Synchronization
import Testing

@testable import ReactorPostgres

@Suite("questions that wait for a lock in PostgreSQL", .timeLimit(.minutes(60)))
struct QuestionQueueTests {
    private final class Holder: Sendable {
        private let connection: Mutex<Connection?>
        private let pauses = Atomic<Int>(0)

        /// Locks the row with which each new connection begins.
        init(_ server: PostgresServer, _ schema: String) throws {
            let held = try server.connection()
            try held.execute(
                "BEGIN; SELECT 1 FROM \(schema).cluster FOR UPDATE", within: .seconds(600))
            connection = Mutex(held)
        }

        var pauseCount: Int { pauses.load(ordering: .relaxed) }

        /// Ends the lock with the third pause.
        func paused() {
            guard pauses.add(1, ordering: .relaxed).newValue == 3 else { return }
            connection.withLock { $0 = nil }
        }
    }

    /// The queue remembers the fault of its connection for a second. Without the pause it is asked
    /// again thousands of times meanwhile.
    @Test func `a connection that somebody holds up is waited for with pauses`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        let journal = try PostgresJournal(address, looksEvery: nil)
        await journal.close()
        try server.waitForEnd(of: schema)
        let connector = Connector(address)
        let queue = ConnectionQueue(connector, "questions")
        let holder = try Holder(server, schema)
        let pause = { @Sendable (time: Duration) in
            holder.paused()
            ConnectionQueue.wait(time)
        }
        let questionQueue = QuestionQueue<Int, Int>(queue, lockLimit: .seconds(600), wait: pause) {
            questions, _ throws(PostgresFault) in questions
        }
        let answer = await withCheckedContinuation { continuation in
            questionQueue.ask(7) { continuation.resume(returning: $0) }
        }
        #expect(answer == .success(7))
        #expect(holder.pauseCount >= 3)
        await queue.close()
    }
}
