import Cyclers
import Reactors
import TestStreams
import Testing

@Suite("Streams of a storage begin with the present value", .timeLimit(.minutes(60)))
struct StorageStreamTests {
    private let tally = Tally()

    @Test
    func `case 51: changed yields the present value, then changes of a computed property`()
        async throws
    {
        var texts = Reading(tally.state.changed(\.sumText))
        tally.add(0)
        tally.add(2)
        tally.commit {
            $0.update(1, \.a)
            $0.update(1, \.b)
        }
        tally.add(1)
        #expect(try await texts.next(3) == ["0", "2", "3"])
    }

    @Test func `case 49: values yields the latest value, then one for each version`() async throws {
        tally.add(1)
        tally.add(1)
        var values = Reading(tally.state.values())
        tally.add(0)
        tally.add(1)
        #expect(try await values.next(3).map(\.a) == [2, 2, 3])
    }

    @Test func `a stream made during a notification does not repeat its first value`() async throws
    {
        var stream: ReactorStream<Tally.State>?
        tally.dispatch { _ in
            tally.add(1)
            stream = tally.state.values()
            tally.add(1)
        }
        var values = Reading(try #require(stream))
        #expect(try await values.next(2).map(\.a) == [1, 2])
        tally.add(1)
        #expect(try await values.next(1).map(\.a) == [3])
    }

    @Test func `a slow reader gets ReaderTooSlow, and others continue`() async throws {
        var slow = Reading(tally.state.values(buffer: 2))
        var quick = Reading(tally.state.values())
        for _ in 1...3 { tally.add(1) }
        #expect(try await slow.next(2).map(\.a) == [0, 1])
        await #expect(throws: ReaderTooSlow.self) { try await slow.next(1) }
        #expect(try await quick.next(4).map(\.a) == [0, 1, 2, 3])
        #expect(tally.state.subscriberCount == 1)
    }

    @Test func `a stream ends with its storage`() async throws {
        var tally: Tally? = Tally()
        let values = try #require(tally).state.values()
        let activities = try #require(tally).activities()
        let log = try #require(tally).log()
        tally = nil
        var count = 0
        for try await _ in values { count += 1 }
        for try await _ in activities { count += 1 }
        for try await _ in log { count += 1 }
        #expect(count == 1)
    }

    @Test func `a stream of an ended cycler yields the last value and ends`() async throws {
        tally.end()
        var values: [Int] = []
        for try await state in tally.state.values() { values.append(state.a) }
        for try await _ in tally.activities() { values.append(1) }
        for try await _ in tally.log() { values.append(1) }
        #expect(values == [0])
    }

    @Test func `readers that come and go while nothing is written are released`() async throws {
        for _ in 0..<1_000 {
            var reading: Reading? = Reading(tally.state.values())
            _ = try await reading?.next(1)
            reading = nil
        }
        #expect(tally.state.subscriberCount <= 32)
    }
}
