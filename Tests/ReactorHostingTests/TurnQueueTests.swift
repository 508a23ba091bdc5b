import Testing

@testable import ReactorHosting

@Suite("Connections that wait for a turn on a loop", .timeLimit(.minutes(15)))
struct TurnQueueTests {
    @Test func `connections that have used no bytes have their own queue, each in order`() {
        var queue = TurnQueue<Int>()
        #expect(queue.isEmpty)
        queue.append(1, .heavy)
        queue.append(2, .light)
        queue.append(3, .heavy)
        queue.append(4, .light)
        #expect(queue.count(.light) == 2)
        #expect(queue.count(.heavy) == 2)
        #expect([queue.popFirst(.light), queue.popFirst(.heavy)] == [2, 1])
        queue.append(2, .light)
        #expect((0..<3).map { _ in queue.popFirst(.light) } == [4, 2, nil])
        #expect((0..<2).map { _ in queue.popFirst(.heavy) } == [3, nil])
        #expect(queue.isEmpty)
    }
}
