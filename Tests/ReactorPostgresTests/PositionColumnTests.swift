import Testing

@testable import ReactorPostgres
@testable import Storage

@Suite("A row with an impossible position ends no process", .timeLimit(.minutes(15)))
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

    @Test(arguments: [
        HistoryPosition(0), HistoryPosition(1), HistoryPosition(1, part: 1),
        HistoryPosition(9, part: .max - 1), HistoryPosition((1 << 62) - 1),
    ])
    func `what is stored is what is read`(position: HistoryPosition) {
        let (number, part) = position.column
        #expect(HistoryPosition(column: number, part) == position)
    }
}
