import Testing

@testable import Cluster

@Suite("a node that joins is waited for, one that is gone is not", .timeLimit(.minutes(60)))
struct NewcomersTests {
    private func members(_ numbers: [Int64]) -> Members {
        let all = ([1] + numbers).map {
            Member(node: Node(number: $0), address: "10.0.0.\($0):1", loops: 1)
        }
        return Members(own: all[0], others: Array(all.dropFirst()))
    }

    @Test func `a node that is linked before it is a member is a newcomer until then`() {
        var newcomers = Newcomers()
        newcomers.observe(members([2]), linked: [2, 3])
        #expect(!newcomers.areAmong([2]))
        #expect(newcomers.areAmong([2, 3]))
        newcomers.observe(members([2, 3]), linked: [2, 3])
        #expect(!newcomers.areAmong([2, 3]))
    }

    @Test func `a node that is declared gone is none, while its link lasts`() {
        var newcomers = Newcomers()
        newcomers.observe(members([2]), linked: [])
        newcomers.observe(members([2]), linked: [2])
        newcomers.observe(members([]), linked: [2])
        #expect(!newcomers.areAmong([2]))
        // It may dial again before it knows that it is declared gone.
        newcomers.observe(members([]), linked: [])
        #expect(!newcomers.areAmong([2]))
    }

    @Test func `those that have gone are forgotten above a limit`() {
        var newcomers = Newcomers()
        let many = (0..<Int64(Newcomers.limit)).map { 10 + $0 }
        newcomers.observe(members(many), linked: [])
        newcomers.observe(members([]), linked: [10])
        #expect(!newcomers.areAmong(Set(many)))
        newcomers.observe(members([2]), linked: [10])
        #expect(!newcomers.areAmong([2, 10]))
        #expect(newcomers.areAmong([11]))
    }
}
