import Cyclers
import Reactors
import Testing

@Suite("A storage alone: every write is one version and one notification", .timeLimit(.minutes(60)))
struct StorageTests {
    private struct Person: Equatable {
        var name = "a"
        var nick: String?
        var age = 1
    }

    private struct Unlike { var id: Int }

    private final class Box<Value> {
        var values: [Value] = []
    }

    private let storage = MutableStorage(Person())
    private let told = Box<Person>()
    private let book = LineLogger()

    init() {
        storage.add(logger: book)
        let told = told
        storage.add { told.values.append($0) }
    }

    @Test func `case 108: a batch of two updates is notified once and logged as three`() {
        storage.batchUpdate {
            $0.update("b", \.name)
            $0.update(2, \.age)
        }
        #expect(told.values == [Person(name: "b", age: 2)])
        #expect(storage.version == 1)
        #expect(book.lines == ["didChange b", "didChange 2", "didReplace"])
    }

    @Test func `a batch that writes nothing has no effect`() {
        storage.batchUpdate { $0.updateIfChanged("a", \.name) }
        #expect(told.values.isEmpty)
        #expect(storage.version == 0)
        #expect(book.lines.isEmpty)
    }

    @Test func `a batch within a batch is part of it`() {
        storage.batchUpdate {
            $0.update(2, \.age)
            $0.batchUpdate { $0.update("b", \.name) }
        }
        #expect(told.values == [Person(name: "b", age: 2)])
        #expect(
            book.lines == ["didChange 2", "didChange b", "didReplace", "didReplace"])
    }

    @Test func `a throwing batch changes nothing, and the next one works`() {
        #expect(throws: CyclerParentMissing.self) {
            try storage.batchUpdate {
                $0.update("b", \.name)
                throw CyclerParentMissing()
            }
        }
        #expect(storage.value == Person())
        #expect(storage.version == 0)
        #expect(told.values.isEmpty)
        #expect(book.lines.isEmpty)
        storage.batchUpdate { $0.update("c", \.name) }
        #expect(told.values == [Person(name: "c")])
    }

    @Test func `an error thrown by a batch keeps its type`() {
        func fail() throws(CyclerParentMissing) {
            try storage.batchUpdate { _ throws(CyclerParentMissing) in throw CyclerParentMissing() }
        }
        #expect(throws: CyclerParentMissing()) { try fail() }
    }

    @Test func `a failing batch within a batch rolls back only itself`() {
        storage.batchUpdate { outer in
            outer.update(2, \.age)
            #expect(throws: CyclerParentMissing.self) {
                try outer.batchUpdate { inner in
                    inner.update("lost", \.name)
                    throw CyclerParentMissing()
                }
            }
        }
        #expect(told.values == [Person(age: 2)])
        #expect(book.lines == ["didChange 2", "didReplace"])
        storage.batchUpdate { outer in
            #expect(throws: CyclerParentMissing.self) {
                try outer.batchUpdate { inner in
                    inner.update("lost", \.name)
                    throw CyclerParentMissing()
                }
            }
        }
        #expect(storage.version == 1)
    }

    @Test func `case 109: an update to an equal value is notified and logged`() {
        storage.update("a", \.name)
        storage.update("a", \.name)
        #expect(told.values == [Person(), Person()])
        #expect(storage.version == 2)
        #expect(book.lines == ["didChange a", "didChange a"])
    }

    @Test func `case 110: updateIfChanged to another value is notified once and logged once`() {
        storage.updateIfChanged(2, \.age)
        #expect(told.values == [Person(age: 2)])
        #expect(storage.version == 1)
        #expect(book.lines == ["didChange 2"])
    }

    @Test func `case 111: updateIfChanged to the same value does nothing`() {
        storage.updateIfChanged(1, \.age)
        #expect(told.values.isEmpty)
        #expect(storage.version == 0)
        #expect(book.lines.isEmpty)
    }

    @Test func `cases 110 and 113: updateIfChanged of an optional, from nil, to nil, to another`() {
        storage.updateIfChanged("x", \.nick)
        storage.updateIfChanged("y", \.nick)
        storage.updateIfChanged("y", \.nick)
        storage.updateIfChanged(nil, \.nick)
        #expect(told.values.map(\.nick) == ["x", "y", nil])
        #expect(storage.version == 3)
    }

    @Test func `case 113: updateIfChanged from nil to nil does nothing`() {
        storage.updateIfChanged(nil, \.nick)
        storage.updateIfChanged(nil, \.nick, comparer: ==)
        #expect(told.values.isEmpty)
        #expect(storage.version == 0)
        #expect(book.lines.isEmpty)
    }

    @Test func `a comparer decides whether values are the same`() {
        storage.updateIfChanged("A", \.name) { $0.lowercased() == $1.lowercased() }
        #expect(storage.version == 0)
        storage.updateIfChanged("B", \.name) { $0.lowercased() == $1.lowercased() }
        #expect(storage.version == 1)
        storage.updateIfChanged("n", \.nick) { (_: String, _: String) in true }
        #expect(storage.value.nick == "n")
        storage.updateIfChanged("m", \.nick) { (_: String, _: String) in true }
        #expect(storage.value.nick == "n")
        storage.updateIfChanged(nil, \.nick) { (_: String, _: String) in true }
        #expect(storage.value.nick == nil)
        #expect(storage.version == 3)
    }

    @Test func `a comparer is given the present value first, for types without equality too`() {
        let storage = MutableStorage(Unlike(id: 1))
        var compared: [[Int]] = []
        storage.updateIfChanged(Unlike(id: 2), \.self) {
            compared.append([$0.id, $1.id])
            return false
        }
        #expect(compared == [[1, 2]])
        #expect(storage.value.id == 2)
    }

    @Test func `case 115: replace is notified once and logged as didReplace`() {
        storage.replace(Person(name: "z"))
        #expect(told.values == [Person(name: "z")])
        #expect(storage.version == 1)
        #expect(book.lines == ["didReplace"])
    }

    @Test func `asStorage is the same storage, and can't be cast back to a writable one`() {
        let readOnly = storage.asStorage()
        #expect(!(readOnly is MutableStorage<Person>))
        storage.update(5, \.age)
        #expect(readOnly.value.age == 5)
        #expect(readOnly.version == 1)
    }
}
