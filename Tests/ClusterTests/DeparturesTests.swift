import Testing

@testable import Cluster

@Suite(
    "a node that ends is waited for until its sessions are awake elsewhere",
    .timeLimit(.minutes(60)))
struct DeparturesTests {
    private let two = Node(number: 2)

    private func members(_ numbers: [Int64], isHeard: Bool = true) -> Members {
        let all = ([1] + numbers).map {
            Member(node: Node(number: $0), address: "10.0.0.\($0):1", loops: 1)
        }
        return Members(own: all[0], others: Array(all.dropFirst()), isHeard: isHeard)
    }

    private func begun(at now: Int64 = 0) -> Departures {
        var departures = Departures()
        departures.begin(two, among: members([2, 3]), at: now)
        return departures
    }

    @Test func `it is waited for from its announcement until its sessions are awake`() {
        var departures = begun()
        #expect(departures.areAwaited && departures.contains(two) && departures.gone.isEmpty)
        departures.observe(members([2, 3]), at: 1)
        // A search before that would find the sessions with their owner.
        departures.end([two])
        #expect(departures.areAwaited)
        departures.observe(members([3]), at: 2)
        #expect(departures.areAwaited && departures.gone == [two])
        departures.end([two])
        #expect(departures.isEmpty && !departures.areAwaited)
    }

    @Test func `a node that is no member, and this one, are not waited for`() {
        var departures = Departures()
        departures.begin(Node(number: 4), among: members([2, 3]), at: 0)
        departures.begin(Node(number: 1), among: members([2, 3]), at: 0)
        #expect(departures.isEmpty)
    }

    @Test func `one that takes too long to end keeps nothing from the others`() {
        var departures = begun()
        departures.observe(members([2]), at: Departures.endLimitNanoseconds - 1)
        #expect(departures.areAwaited)
        departures.observe(members([2]), at: Departures.endLimitNanoseconds)
        #expect(!departures.areAwaited && departures.contains(two))
        // It says so again and again.
        departures.begin(two, among: members([2]), at: Departures.endLimitNanoseconds)
        #expect(!departures.areAwaited)
        departures.observe(members([]), at: Departures.endLimitNanoseconds + 1)
        #expect(departures.areAwaited && departures.gone == [two], "its sessions are")
    }

    @Test func `sessions that nobody wakes keep nothing from the others`() {
        var departures = begun()
        departures.observe(members([]), at: 7)
        departures.observe(members([]), at: 6 + Departures.wakeLimitNanoseconds)
        #expect(departures.areAwaited)
        departures.observe(members([]), at: 7 + Departures.wakeLimitNanoseconds)
        #expect(departures.isEmpty)
    }

    @Test func `one that was about to end, and is gone, is waited for without an announcement`() {
        var leaving = members([2, 3])
        leaving.others[0].isLeaving = true
        var departures = Departures()
        departures.observe(leaving, at: 0)
        #expect(departures.isEmpty)
        departures.observe(members([3]), at: 1)
        #expect(departures.gone == [two])
        departures.end([two])
        departures.observe(members([3]), at: 2)
        #expect(departures.isEmpty)
        // One that has not said so was killed: what it has missed is lost.
        departures.observe(members([]), at: 3)
        #expect(departures.isEmpty)
    }

    @Test func `without the database no node is known to have ended`() {
        var departures = begun()
        departures.observe(members([], isHeard: false), at: .max)
        #expect(departures.areAwaited && departures.gone.isEmpty)
    }

    @Test func `another node that ends meanwhile is waited for as well`() {
        var departures = begun()
        departures.observe(members([3]), at: 1)
        departures.begin(Node(number: 3), among: members([3]), at: 1)
        departures.observe(members([]), at: 2)
        #expect(departures.gone == [two, Node(number: 3)])
        departures.end([two])
        #expect(departures.areAwaited)
    }
}
