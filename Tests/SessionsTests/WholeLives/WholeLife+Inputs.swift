import JSONCoding
import Sessions
import Storage
import Synchronization

@testable import Feeds

/// The input of the ledgers and the clerks of a life.
struct Charter: Codable, Sendable, Equatable {
    var number: Int
}

/// The inputs of sessions as they were created, and as their reactors were made with them.
///
/// A session that is read from the journal, forked, or rebuilt at an earlier version has a reactor
/// of its own, so all of them are checked.
final class MadeReactors: Sendable {
    private struct State {
        /// There are several if an id is used again, or history is lost.
        var numbers: [String: Set<Int>] = [:]
        var count = 0
        var faults: [String] = []
    }

    private let state = Mutex(State())

    var faults: [String] { state.withLock { $0.faults } }
    var count: Int { state.withLock { $0.count } }

    /// A session is created, as a fork if it has an origin.
    func create(_ id: String, _ number: Int, from origin: String?) {
        state.withLock { state in
            let numbers = origin.flatMap { state.numbers[$0] } ?? [number]
            state.numbers[id, default: []].formUnion(numbers)
        }
    }

    func make(_ id: String, _ owner: String?, _ charter: Charter) {
        // The reactor that is examined at registration.
        guard id != "example" else { return }
        state.withLock { state in
            state.count += 1
            if state.numbers[id]?.contains(charter.number) != true {
                let known = state.numbers[id]?.sorted() ?? []
                state.faults.append("\(id) is made with \(charter.number), created with \(known)")
            }
            if owner != WholeLife.owner(of: id)?.text {
                state.faults.append("\(id) is made for \(owner ?? "nobody")")
            }
        }
    }
}

// The sessions of two reactors are created with an input. Forks have the input of their origin.
extension WholeLife {
    /// Computed from the id, so that the rest of a life does not depend on it.
    private static func number(of id: String) -> Int { id.utf8.reduce(7) { 31 &* $0 &+ Int($1) } }

    /// The input of a new session. Its text varies.
    func input(of id: String, _ registration: Registration) -> [UInt8]? {
        guard registration.input != nil else { return nil }
        let number = Self.number(of: id)
        let zeros = requests.count.isMultiple(of: 2) ? "" : ".0"
        return Array("{\"number\":\(number)\(zeros)}".utf8)
    }

    /// The owner and the input of a new session.
    func creation(
        of id: String, _ registration: Registration, from origin: (id: String, input: [UInt8]?)?
    ) -> SessionCreation {
        let input = origin.map(\.input) ?? input(of: id, registration)
        do throws(InputRefusal) {
            try registration.check(input)
        } catch {
            blame("\(id) can't be created with its input: \(error)")
        }
        if input != nil { made.create(id, Self.number(of: id), from: origin?.id) }
        return SessionCreation(owner: Self.owner(of: id), input: input)
    }

    /// Whether a request to create the session confirms it instead.
    func confirms(_ session: Session) -> Bool {
        let id = session.id.text
        let isMade = session.feed.creation.isMade(with: input(of: id, session.registration))
        // A fork has the input of its origin.
        let isFork = origins.keys.contains { $0.session == id }
        if !isMade, !isFork { blame("\(id) was created with another input") }
        return isMade
    }

    func checkInputs() {
        for fault in made.faults { blame(fault) }
    }
}
