import Testing

@testable import Cluster

@Suite("values wait for the sessions that are being loaded", .timeLimit(.minutes(60)))
struct TopicArrivalsTests {
    private typealias Arrivals = TopicArrivals<Int>

    /// Has values come, of one byte each.
    private func add(_ values: [Int], to arrivals: inout Arrivals, at now: Int64 = 0) {
        for value in values {
            let isAdded = arrivals.add(value, bytes: 1, at: now)
            #expect(isAdded)
        }
    }

    @Test func `those that come later wait for later loads, and keep the order`() {
        var arrivals = Arrivals()
        var begins = [arrivals.beginWait()]
        add([1, 2], to: &arrivals)
        begins.append(arrivals.beginWait())
        add([3], to: &arrivals)
        begins.append(arrivals.beginWait())
        #expect(begins == [false, true, false])
        var values = [arrivals.endWait()]
        let isNext = arrivals.beginWait()
        #expect(isNext)
        values += [arrivals.endWait(), arrivals.endWait()]
        #expect(values == [[1, 2], [3], []])
        #expect(arrivals.isEmpty)
    }

    @Test func `one that has waited too long is given up, and those after it are delivered`() {
        var arrivals = Arrivals()
        add([1], to: &arrivals)
        add([2], to: &arrivals, at: 5)
        _ = arrivals.beginWait()
        add([3], to: &arrivals, at: 6)
        let limit = Arrivals.limitNanoseconds
        var expired = [arrivals.expire(at: limit - 1), arrivals.expire(at: limit)]
        let delivered = arrivals.endWait()
        #expect(delivered == [2], "the third has not waited for these loads")
        expired.append(arrivals.expire(at: limit + 6))
        #expect(expired == [[], [1], [3]])
        #expect(arrivals.isEmpty)
    }

    @Test func `their number and their bytes are bounded`() {
        var arrivals = Arrivals()
        add(Array(0..<Arrivals.limit), to: &arrivals)
        var added = [arrivals.add(-1, bytes: 1, at: 0)]
        _ = arrivals.expire(at: .max)
        // Alone it has room.
        added.append(arrivals.add(1, bytes: Arrivals.limitBytes + 1, at: 0))
        added.append(arrivals.add(2, bytes: 1, at: 0))
        _ = arrivals.expire(at: .max)
        added.append(arrivals.add(3, bytes: Arrivals.limitBytes - 1, at: 0))
        added.append(arrivals.add(4, bytes: 1, at: 0))
        added.append(arrivals.add(5, bytes: 1, at: 0))
        #expect(added == [false, true, false, true, true, false])
        #expect(arrivals.contains { $0 == 4 } && !arrivals.contains { $0 == 5 })
    }
}
