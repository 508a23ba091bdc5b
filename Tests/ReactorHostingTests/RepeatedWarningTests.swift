import Testing

@testable import ReactorHosting

@Suite("A start that tries again logs why, and not each second", .timeLimit(.minutes(60)))
struct RepeatedWarningTests {
    @Test func `at first, when it changes, and each minute`() {
        var warning = RepeatedWarning()
        let start = ContinuousClock.now
        let due = [
            (0, "a"), (1, "a"), (59, "a"), (60, "a"), (61, "a"), (62, "b"), (63, "b"), (64, "a"),
            (123, "a"), (124, "a"),
        ].filter { warning.isDue($0.1, at: start + .seconds($0.0)) }
        #expect(due.map(\.0) == [0, 60, 62, 64, 124])
    }
}
