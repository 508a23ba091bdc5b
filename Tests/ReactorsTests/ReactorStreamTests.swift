import Reactors
import TestStreams
import Testing

@Suite(
    "A slow reader gets an error; nothing is left out in the middle",
    .timeLimit(.minutes(60)))
struct ReactorStreamTests {
    private let host = ReactorHost(PulsesReactor())

    @Test func `buffered elements are delivered, then ReaderTooSlow`() async throws {
        var slow = Reading(await host.pulse(\.$a, buffer: 3))
        var quick = Reading(await host.pulse(\.$a))
        for number in 1...5 { await host.send(.setA(number)) }
        #expect(try await slow.next(3) == [nil, 1, 2])
        await #expect(throws: ReaderTooSlow.self) { try await slow.next(1) }
        #expect(try await quick.next(6) == [nil, 1, 2, 3, 4, 5])
        #expect(await host.readerCount == 1)
    }

    @Test func `case 30: a reader that leaves is forgotten, the others continue`() async throws {
        var stays = Reading(await host.pulse(\.$a))
        let leaves = await host.pulse(\.$a)
        let leaving = Task { for try await _ in leaves {} }
        #expect(await host.readerCount == 2)
        leaving.cancel()
        _ = await leaving.result
        await host.send(.setA(1))
        #expect(try await stays.next(2) == [nil, 1])
        // The delivery above found it gone, unless its end was noticed before.
        #expect(await host.readerCount == 1)
    }

    private struct People: Reactor {
        struct Human: Equatable {
            var name: String
            var age: Int
        }
        typealias Action = Human
        struct State { var human = Human(name: "a", age: 1) }
        let initialState = State()
        func reduce(state: inout State, mutation: Human) { state.human = mutation }
    }

    @Test func `distinct by a key leaves out elements whose key is the same, and keeps the first`()
        async throws
    {
        let people = ReactorHost(People())
        let states = await people.state().distinct(by: \.human.name)
        for (name, age) in [("a", 2), ("c", 3), ("c", 4), ("a", 5)] {
            await people.send(.init(name: name, age: age))
        }
        await people.end()
        var ages: [Int] = []
        for try await state in states { ages.append(state.human.age) }
        #expect(ages == [1, 3, 5])
    }

    @Test func `distinct ends with the error of a reader that is too slow`() async throws {
        let people = ReactorHost(People())
        let states = await people.state(buffer: 2).distinct { _ in 0 }
        for age in 1...3 { await people.send(.init(name: "a", age: age)) }
        var iterator = states.makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        await #expect(throws: ReaderTooSlow.self) { try await iterator.next() }
    }
}
