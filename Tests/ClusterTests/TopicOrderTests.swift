import Testing

@testable import Cluster

@Suite("the values of a topic have one order at all nodes", .timeLimit(.minutes(60)))
struct TopicOrderTests {
    @Test func `a place is the time, or the one after the newest`() {
        let order = Order()
        #expect(order.next(of: "a", at: 500) == 500)
        #expect(order.admit(500, of: "a"))
        #expect(order.next(of: "a", at: 400) == 501, "a clock that was set back changes nothing")
        #expect(order.next(of: "a", at: 600) == 600)
        #expect(order.next(of: "b", at: 400) == 400)
        #expect(TopicOrder().next(of: "a", at: -5) == 1)
    }

    @Test func `a value is delivered once, and none after a later one`() {
        let order = Order()
        #expect(order.admit(5, of: "a"))
        #expect(!order.admit(5, of: "a"))
        #expect(!order.admit(4, of: "a"))
        #expect(order.admit(4, of: "b"))
        #expect(order.admit(6, of: "a"))
        order.learn(9, of: "a")
        order.learn(8, of: "a")
        #expect(order.newest(of: "a") == 9)
    }

    @Test func `no place of another node makes the next one impossible`() {
        let order = Order()
        #expect(!order.admit(.max, of: "a"))
        order.learn(.max, of: "a")
        #expect(order.newest(of: "a") == 0)
        #expect(order.admit(TopicOrder.placeLimit, of: "a"))
        let next = order.next(of: "a", at: 1)
        #expect(!order.admit(next, of: "a"))
    }

    @Test func `a name that is only canonically equal is another topic`() {
        let order = Order()
        #expect(order.admit(9, of: "\u{E9}"))
        #expect(order.admit(5, of: "e\u{301}"))
        var memory = TopicMemory()
        memory.keep([1], at: 5, of: "\u{E9}")
        memory.keep([2], at: 6, of: "e\u{301}")
        #expect(memory.all.map(\.value.body) == [[1], [2]])
    }

    @Test func `topics beyond the limit are forgotten, and none of their values comes twice`() {
        let order = Order()
        for number in 1...TopicOrder.topicLimit {
            #expect(order.admit(UInt64(number), of: "t\(number)"))
        }
        #expect(order.count == TopicOrder.topicLimit)
        #expect(order.admit(100_000, of: "one more"))
        #expect(order.count <= TopicOrder.topicLimit / 2 + 1)
        for number in 1...TopicOrder.topicLimit {
            #expect(!order.admit(UInt64(number), of: "t\(number)"))
        }
        #expect(!order.admit(1, of: "never heard of"))
        #expect(order.next(of: "never heard of", at: 1) > 1)
    }

    @Test func `long names are forgotten earlier`() {
        let order = Order()
        let name = String(repeating: "n", count: TopicOrder.nameLimitBytes / 4)
        for number in 1...9 as ClosedRange<UInt64> {
            #expect(order.admit(number, of: "\(number)\(name)"))
            #expect(order.count <= 4)
        }
        #expect(order.admit(10, of: String(repeating: name, count: 5)))
        #expect(order.count == 0)
        #expect(!order.admit(10, of: "a"))
        #expect(order.admit(11, of: "a"))
    }

    // MARK: Memory

    @Test func `the newest value of each topic is remembered`() {
        var memory = TopicMemory()
        memory.keep([1], at: 5, of: "a")
        memory.keep([2], at: 4, of: "b")
        memory.keep([3, 3], at: 6, of: "a")
        #expect(memory.all.map(\.topic) == ["b", "a"])
        #expect(memory.all.map(\.value.body) == [[2], [3, 3]])
        #expect(memory.bytes == 5)
    }

    @Test func `the oldest values are left out beyond the bounds`() {
        var memory = TopicMemory()
        let large = [UInt8](repeating: 0, count: TopicMemory.limitBytes / 8)
        for place in 1...20 as ClosedRange<UInt64> {
            memory.keep(large, at: place, of: "t\(place)")
            #expect(memory.bytes <= TopicMemory.limitBytes)
        }
        #expect(memory.all.last?.topic == "t20")
        let count = memory.count
        memory.keep([UInt8](repeating: 0, count: TopicMemory.limitBytes), at: 21, of: "t20")
        #expect(memory.count == count - 1, "it replaces its own topic's value, and no other")
        for place in 1...UInt64(TopicMemory.topicLimit + 1) {
            memory.keep([], at: place, of: "\(place)")
        }
        #expect(memory.count <= TopicMemory.topicLimit)
        #expect(memory.all.last?.value.place == UInt64(TopicMemory.topicLimit + 1))
    }

    // MARK: Shares

    @Test(
        arguments: [
            ([], .unheard), ([.unheard, .unheard], .unheard),
            (
                [.delivered(sessions: 2, isRemembered: false), .unheard],
                .published(sessions: 2)
            ),
            ([.delivered(sessions: 0, isRemembered: true)], .published(sessions: 0)),
            // All of them have ended.
            ([.delivered(sessions: 0, isRemembered: false)], .unheard),
            ([.refused, .unheard], .refused), ([.late, .unheard], .late),
            ([.refused, .late], .refused),
            (
                [.delivered(sessions: 1, isRemembered: false), .refused],
                .partly(sessions: 1, missing: 1)
            ),
            (
                [.delivered(sessions: 0, isRemembered: true), .late, .unanswered],
                .partly(sessions: 0, missing: 2)
            ),
            ([.unanswered, .refused], .partly(sessions: 0, missing: 2)),
            ([.delivered(sessions: -1, isRemembered: false)], .unheard),
        ] as [([TopicShares.Share], TopicShares.Outcome)])
    func `all nodes have a value, or none, or it is said`(
        _ all: [TopicShares.Share], _ outcome: TopicShares.Outcome
    ) {
        var shares = TopicShares()
        for share in all { shares.add(share) }
        #expect(shares.outcome == outcome)
    }

    @Test func `no number of sessions ends the process`() {
        var shares = TopicShares()
        for _ in 0..<3 { shares.add(.delivered(sessions: .max, isRemembered: false)) }
        guard case .published = shares.outcome else {
            Issue.record("\(shares.outcome)")
            return
        }
    }
}

/// An order that expectations may change.
private final class Order {
    private var order = TopicOrder()

    var count: Int { order.count }

    func newest(of topic: String) -> UInt64 { order.newest(of: topic) }

    func next(of topic: String, at now: Int64) -> UInt64 { order.next(of: topic, at: now) }

    func admit(_ place: UInt64, of topic: String) -> Bool { order.admit(place, of: topic) }

    func learn(_ place: UInt64, of topic: String) { order.learn(place, of: topic) }
}
