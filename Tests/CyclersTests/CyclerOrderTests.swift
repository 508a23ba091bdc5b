import Cyclers
import Reactors
import Testing

@Suite(
    "A cycler's dispatch is one turn; a subscriber's reaction comes after it",
    .timeLimit(.minutes(60)))
struct CyclerOrderTests {
    private let tally = Tally()

    private func dispatchA() {
        tally.dispatch("A") { _ in
            tally.step("enterA")
            tally.step("exitA")
        }
    }

    private func dispatchB() {
        tally.dispatch("B") { _ in
            tally.step("enterB")
            tally.step("exitB")
        }
    }

    @Test func `case 59: B, dispatched when enterA is seen, comes after exitA`() {
        var told: [[String]] = []
        var later: [[String]] = []
        tally.state.add { state in
            told.append(state.steps)
            if state.steps == ["enterA"] { dispatchB() }
        }
        tally.state.add { later.append($0.steps) }
        dispatchA()
        let versions = [
            ["enterA"], ["enterA", "exitA"], ["enterA", "exitA", "enterB"],
            ["enterA", "exitA", "enterB", "exitB"],
        ]
        #expect(told == versions)
        #expect(later == versions)
    }

    @Test func `case 60: a dispatch or a commit from inside a commit is part of it`() {
        var told: [[String]] = []
        tally.state.add { told.append($0.steps) }
        tally.commit { state in
            tally.step("first")
            dispatchB()
            state.update(state.value.steps + ["last"], \.steps)
        }
        #expect(told == [["first", "enterB", "exitB", "last"]])
        #expect(tally.version == 1)
    }

    @Test func `case 60: a nested dispatch is applied in place and notified in one order`() {
        var told: [[String]] = []
        tally.state.add { told.append($0.steps) }
        tally.dispatch { _ in
            tally.step("enterA")
            dispatchB()
            tally.step("exitA")
            #expect(told.isEmpty)
        }
        #expect(told.last == ["enterA", "enterB", "exitB", "exitA"])
        #expect(told.count == 4)
    }

    @Test func `case 61: a subscriber that presents after a dismissal leaves the last route`() {
        let route = MutableStorage<String?>("first")
        var shown: [String?] = []
        route.add { if $0 == nil { route.replace("next") } }
        route.add { shown.append($0) }
        route.replace(nil)
        #expect(route.value == "next")
        #expect(shown == [nil, "next"])
    }

    @Test func `case 48: the value is current before a subscriber is called`() {
        tally.state.add { state in #expect(tally.state.value == state) }
        tally.add(1)
        tally.add(1)
    }

    @Test func `a dispatch that throws notifies its earlier commits`() {
        var told: [Int] = []
        tally.state.add { told.append($0.a) }
        #expect(throws: Tally.Refused.self) {
            try tally.dispatch { _ in
                tally.add(1)
                throw Tally.Refused()
            }
        }
        #expect(told == [1])
    }
}
