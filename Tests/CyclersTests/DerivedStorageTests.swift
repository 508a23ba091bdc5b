import Cyclers
import Reactors
import Testing

@Suite("A derived storage is never behind the one it comes from", .timeLimit(.minutes(60)))
struct DerivedStorageTests {
    private let storage = MutableStorage((first: 1, second: 1))

    @Test func `map follows, by key path and by closure`() {
        let first = storage.map(\.first)
        let text = first.map { "\($0)" }
        var told: [String] = []
        text.add { told.append($0) }
        storage.update(2, \.first)
        storage.update(7, \.second)
        #expect(first.value == 2)
        #expect(text.value == "2")
        #expect(told == ["2", "2"])
    }

    @Test func `distinct notifies real changes only`() {
        var told: [Int] = []
        let first = storage.map(\.first).distinct()
        let token = first.add { told.append($0) }
        storage.update(1, \.first)
        storage.update(2, \.first)
        storage.update(7, \.second)
        storage.update(3, \.first)
        #expect(told == [2, 3])
        first.remove(subscriber: token)
        storage.update(4, \.first)
        #expect(told == [2, 3])
        #expect(storage.subscriberCount == 0)
    }

    @Test func `distinct by a key notifies whole values whose key has changed`() {
        var told: [Int] = []
        let pairs = storage.distinct(by: \.first)
        let token = pairs.add { told.append($0.first * 10 + $0.second) }
        storage.update(7, \.second)
        storage.update(2, \.first)
        storage.update(2, \.first)
        storage.update(8, \.second)
        storage.update(3, \.first)
        #expect(told == [27, 38])
        pairs.remove(subscriber: token)
        #expect(storage.subscriberCount == 0)
    }

    @Test func `a derived storage shows the working copy inside a batch`() {
        let sum = storage.map { $0.first + $0.second }
        storage.batchUpdate {
            $0.update(5, \.first)
            #expect(sum.value == 6)
        }
    }

    @Test func `a derived storage retains its source and nothing else`() {
        final class Owner { let storage = MutableStorage(1) }
        var owner: Owner? = Owner()
        weak let gone = owner
        let double = owner?.storage.map { $0 * 2 }
        owner = nil
        #expect(gone == nil)
        #expect(double?.value == 2)
    }
}
