import EngineSuite
import PostgresRig
import Testing

@testable import ReactorPostgres
@testable import Storage

@Suite("A row with an impossible position ends no process", .timeLimit(.minutes(60)))
struct PositionColumnTests {
    @Test(
        arguments: [
            (0, 0), (0, 7), (0, 4_294_967_294), (0, 4_294_967_295), (-1, 4_294_967_295), (-1, -1),
            (5, -1), (5, 4_294_967_294), (5, 4_294_967_296), (.max, .max), (.min, .min), (.max, 1),
        ] as [(Int64, Int64)])
    func `any two columns are a position that can be continued`(number: Int64, part: Int64) {
        let position = HistoryPosition(column: number, part)
        #expect(HistoryPosition(stored: position.number, part: position.part) == position)
        let end = HistoryEnd(position, version: 0)
        #expect(end.position == position)
        _ = (position.nextNumber, position.recordBefore)
    }

    @Test(arguments: [Int64.min, -1, 0, .max])
    func `any numbers beside the records can be read`(number: Int64) async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        var batch = Batch(records: [.created("s")])
        batch.answers = [.of("s", "k")]
        batch.started = [RunningAction(session: "s", generation: "g1", action: 1, content: [])]
        #expect(await journal.verdict(on: batch) == .committed)
        try server.execute(
            """
            UPDATE \(schema).answers SET status = \(number);
            UPDATE \(schema).running SET begun = \(number), action = \(number);
            UPDATE \(schema).sessions SET kept_version = \(number)
            """)
        let saved = try #require(try await journal.load("s"))
        #expect(saved.running.allSatisfy { (0...1_000).contains($0.begun) })
        #expect(saved.running.allSatisfy { $0.action < HistoryPosition.limit })
        #expect(saved.keptVersion < HistoryPosition.limit)
        let status = try #require(try await journal.answer("s", "k")).status
        #expect((200...599).contains(status))
        await journal.close()
    }

    @Test(arguments: [
        HistoryPosition(0), HistoryPosition(1), HistoryPosition(1, part: 1),
        HistoryPosition(9, part: .max - 1), HistoryPosition((1 << 62) - 1),
    ])
    func `what is stored is what is read`(position: HistoryPosition) {
        let (number, part) = position.column
        #expect(HistoryPosition(column: number, part) == position)
    }
}
