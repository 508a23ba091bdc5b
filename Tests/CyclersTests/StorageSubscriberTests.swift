import Cyclers
import Reactors
import Testing

@Suite("Subscribers of a storage get every version once and in order", .timeLimit(.minutes(60)))
struct StorageSubscriberTests {
    private let storage = MutableStorage(0)

    @Test func `case 119: add does not call back at once`() {
        var told: [Int] = []
        storage.add { told.append($0) }
        #expect(told.isEmpty)
        storage.replace(1)
        #expect(told == [1])
    }

    @Test func `case 120: a removed subscriber is not called; removing it again does nothing`() {
        var told: [Int] = []
        var others: [Int] = []
        let token = storage.add { told.append($0) }
        storage.add { others.append($0) }
        storage.replace(1)
        storage.remove(subscriber: token)
        storage.remove(subscriber: token)
        storage.replace(2)
        #expect(told == [1])
        #expect(others == [1, 2])
        #expect(storage.subscriberCount == 1)
    }

    @Test func `case 120: a token of another storage removes no subscriber`() {
        let other = MutableStorage(0)
        let foreign = other.add { _ in }
        var told: [Int] = []
        storage.add { told.append($0) }
        storage.remove(subscriber: foreign)
        storage.replace(1)
        #expect(told == [1])
    }

    @Test func `a subscriber removed during a notification is not called any more`() {
        var told: [String] = []
        var second: StorageToken?
        storage.add { [storage] value in
            told.append("first \(value)")
            if let second { storage.remove(subscriber: second) }
        }
        second = storage.add { told.append("second \($0)") }
        storage.add { told.append("third \($0)") }
        storage.replace(1)
        storage.replace(2)
        #expect(told == ["first 1", "third 1", "first 2", "third 2"])
        #expect(storage.subscriberCount == 2)
    }

    @Test func `a subscriber added during a notification is called from the next version on`() {
        var told: [String] = []
        var isAdded = false
        storage.add { [storage] value in
            told.append("first \(value)")
            guard !isAdded else { return }
            isAdded = true
            storage.add { told.append("second \($0)") }
        }
        storage.replace(1)
        storage.replace(2)
        #expect(told == ["first 1", "first 2", "second 2"])
    }

    @Test func `case 59: a subscriber's write is applied at once and notified next, to all`() {
        var first: [Int] = []
        var second: [Int] = []
        var seen: [Int] = []
        storage.add { [storage] value in
            first.append(value)
            if value < 3 { storage.replace(value + 1) }
            seen.append(storage.value)
        }
        storage.add { second.append($0) }
        storage.replace(1)
        #expect(first == [1, 2, 3])
        #expect(second == [1, 2, 3])
        #expect(seen == [2, 3, 3])
        #expect(storage.version == 3)
    }

    @Test func `case 75: a subscriber added after a pending version is not called for it`() {
        var late: [Int] = []
        var isFirst = true
        storage.add { [storage] _ in
            guard isFirst else { return }
            isFirst = false
            storage.replace(2)
            storage.add { late.append($0) }
        }
        storage.replace(1)
        #expect(late.isEmpty)
        storage.replace(3)
        #expect(late == [3])
    }

    @Test func `thousands of writes by a subscriber are notified without a growing queue`() {
        var count = 0
        storage.add { [storage] value in
            count += 1
            if value < 10_000 { storage.replace(value + 1) }
        }
        storage.replace(1)
        #expect(count == 10_000)
    }
}
