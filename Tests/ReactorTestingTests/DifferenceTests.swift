import Reactors
import Testing

@testable import ReactorTesting

@Suite("A difference of two states is shown field by field", .timeLimit(.minutes(60)))
struct DifferenceTests {
    private struct Child: Equatable {
        var name = "a"
        @Pulse var note: String?
    }

    private enum Stage: Equatable {
        case idle
        case loaded(Child)
        case failed(code: Int)
    }

    private struct State: Equatable {
        var count = 0
        var name: String?
        var child = Child()
        var stage = Stage.idle
        var items = [Child(name: "1"), Child(name: "2")]
        var byName = ["x": 1]
        var tags: Set<Int> = [1]
        @Pulse var alert: String?
    }

    private func lines(_ change: (inout State) -> Void) -> [String] {
        let expected = State()
        var actual = expected
        change(&actual)
        return Difference(expected: expected, actual: actual).lines
    }

    @Test func `fields that are equal are left out`() {
        #expect(lines { _ in } == [])
        #expect(lines { $0.count = 1 } == ["count: expected 0, actual 1"])
        #expect(lines { $0.name = "x" } == [#"name: expected nil, actual "x""#])
    }

    @Test func `inner values are shown with their paths`() {
        #expect(lines { $0.child.name = "b" } == [#"child.name: expected "a", actual "b""#])
        #expect(
            lines {
                $0.items[1].name = "3"
                $0.items.append(Child())
            } == [
                #"items[1].name: expected "2", actual "3""#,
                #"items[2]: expected none, actual Child(name: "a", _note: nil)"#,
            ])
        #expect(lines { $0.items.removeFirst() }.count == 2)
        #expect(
            lines { $0.byName = ["x": 2, "y": 3] } == [
                #"byName["x"]: expected 1, actual 2"#, #"byName["y"]: expected none, actual 3"#,
            ])
        #expect(lines { $0.tags = [2] } == ["tags: expected [1], actual [2]"])
    }

    @Test func `cases are shown whole if they differ, and by their values if not`() {
        #expect(
            lines { $0.stage = .failed(code: 1) } == [
                "stage: expected idle, actual failed(code: 1)"
            ])
        let (expected, actual) = (Stage.failed(code: 1), Stage.failed(code: 2))
        #expect(
            Difference(expected: expected, actual: actual).lines
                == ["failed.code: expected 1, actual 2"])
        #expect(Difference(expected: 1, actual: 2).lines == ["expected 1, actual 2"])
    }

    @Test func `a pulse is shown as its value, and an equal value by its assignments`() {
        #expect(lines { $0.alert = "x" } == [#"alert: expected nil, actual "x""#])
        #expect(
            lines { $0.alert = nil }
                == ["alert: expected 0 assignments, actual 1 assignment, of nil"])
        #expect(lines { $0.child.note = "x" } == [#"child.note: expected nil, actual "x""#])
    }

    @Test func `at most 20 lines are shown, and 300 characters of a value`() {
        let lines = Difference(expected: Array(0..<100), actual: Array(1..<101)).lines
        #expect(lines.count == 21)
        #expect(lines.last == "and 80 more")
        let text = String(repeating: "x", count: 1_000)
        let long = Difference(expected: "", actual: text).lines
        #expect(
            long == [#"expected "", actual "# + "\"" + text.prefix(299) + "… (1002 characters)"])
    }

    /// Two values differ although their parts are equal.
    private struct Odd: Equatable {
        var value = 0
        static func == (one: Odd, other: Odd) -> Bool { false }
    }

    @Test func `what its parts do not show has no line`() {
        #expect(Difference(expected: Odd(), actual: Odd()).lines.isEmpty)
    }
}
