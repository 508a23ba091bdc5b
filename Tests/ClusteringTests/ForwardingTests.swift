import Cluster
import Clustering
import Testing

@Suite("A request is sent on until a node serves it, within bounds", .timeLimit(.minutes(60)))
struct ForwardingTests {
    private let owner = Node(number: 2)
    private let other = Node(number: 3)
    private let members = Members(
        own: Member(node: Node(number: 1), address: "a:1", loops: 1),
        others: [
            Member(node: Node(number: 2), address: "b:1", loops: 1),
            Member(node: Node(number: 3), address: "c:1", loops: 1),
        ])

    @Test func `it follows the session to its owner`() {
        var request = begun()
        #expect(request.next(after: .moved(other), at: 1, members) == .send(other))
    }

    @Test(arguments: [nil, Node(number: 1), Node(number: 9)])
    func `it is looked up again if the owner is unknown, gone, or this node`(node: Node?) {
        var request = begun()
        #expect(request.next(after: .moved(node), at: 1, members) == .lookUp)
    }

    @Test func `a node without an address is sent nothing`() {
        var (request, members) = (begun(), members)
        members.others[1].address = ""
        #expect(request.next(after: .moved(other), at: 1, members) == .fail(.unreachable))
    }

    @Test func `a node that refuses is not the end`() {
        var request = begun()
        #expect(request.next(after: .notSent, at: 1, members) == .lookUp)
    }

    @Test(arguments: [true, false])
    func `after three tries without effect nothing was applied`(isRepeatable: Bool) {
        var request = Forwarding(at: 0, isRepeatable: isRepeatable)
        for _ in 0..<2 {
            request.beginTry()
            #expect(request.next(after: .moved(owner), at: 1, members) == .send(owner))
        }
        request.beginTry()
        #expect(request.next(after: .moved(owner), at: 1, members) == .fail(.unreachable))
    }

    @Test func `after two seconds no try begins`() {
        var request = begun()
        let limit = Forwarding.Limits.request.nanoseconds
        #expect(request.next(after: .notSent, at: limit - 1, members) == .lookUp)
        #expect(request.next(after: .notSent, at: limit, members) == .fail(.unreachable))
    }

    @Test func `a request without a key is not repeated once it may have taken effect`() {
        var request = begun()
        #expect(request.next(after: .lost, at: 1, members) == .fail(.outcomeUnknown))
    }

    /// The journal names that node until it is no longer a member.
    @Test func `a node that has given the request up is not asked again at once`() {
        var request = begun()
        #expect(request.next(after: .moved(nil), by: owner, at: 1, members) == .lookUp)
        #expect(request.next(after: .moved(owner), at: 2, members) == .lookUp)
        #expect(request.next(after: .moved(other), at: 2, members) == .send(other))
        request.beginTry()
        #expect(request.next(after: .moved(owner), by: other, at: 3, members) == .send(owner))
    }

    /// That node was cut off from the database, and has waited for it until its lease ended.
    @Test(arguments: [Forwarding.Ending.moved(nil), .unknown])
    func `the limits begin anew once, when a node gives up what it has kept for long`(
        ending: Forwarding.Ending
    ) {
        let limit = Forwarding.Limits.request.nanoseconds
        var request = begun(isRepeatable: true)
        for _ in 0..<2 { request.beginTry() }
        #expect(request.next(after: ending, by: owner, at: 3 * limit, members) == .lookUp)
        request.beginTry()
        #expect(request.next(after: ending, by: other, at: 4 * limit - 1, members) == .lookUp)
        let failure: Forwarding.Failure = ending == .unknown ? .outcomeUnknown : .unreachable
        #expect(
            request.next(after: ending, by: other, at: 9 * limit, members) == .fail(failure))
    }

    @Test func `an unknown outcome is asked for again with the key, and else it is the client's`() {
        #expect(begun(isRepeatable: true).isRepeated(504, "outcome_unknown"))
        #expect(!begun(isRepeatable: true).isRepeated(504, ""))
        #expect(!begun(isRepeatable: true).isRepeated(503, "outcome_unknown"))
        #expect(!begun().isRepeated(504, "outcome_unknown"))
        var request = begun()
        #expect(request.next(after: .unknown, by: owner, at: 1, members) == .fail(.outcomeUnknown))
        request = begun(isRepeatable: true)
        let late = 5 * Forwarding.Limits.request.nanoseconds
        #expect(request.next(after: .unknown, by: owner, at: late, members) == .lookUp)
        #expect(!request.isRepeated(504, "outcome_unknown"), "it is repeated once")
    }

    @Test(arguments: [Forwarding.Ending.moved(nil), .notSent, .lost])
    func `a request with a key is repeated, and is never said not to be applied`(
        ending: Forwarding.Ending
    ) {
        var request = begun(isRepeatable: true)
        #expect(request.next(after: .lost, at: 1, members) == .lookUp)
        for _ in 0..<2 { request.beginTry() }
        #expect(request.next(after: ending, at: 1, members) == .fail(.outcomeUnknown))
    }

    @Test func `a response is the client's unless it denies an earlier try`() {
        var request = begun(isRepeatable: true)
        for status in [200, 409, 503, 507] {
            #expect(request.failure(inPlaceOf: status, "request_running") == nil)
        }
        _ = request.next(after: .lost, at: 1, members)
        for status in [200, 201, 202, 204, 404, 409, 412, 422, 504] {
            #expect(request.failure(inPlaceOf: status, "") == nil)
        }
        for (status, code) in [(503, "too_busy"), (507, ""), (409, "request_running")] {
            #expect(request.failure(inPlaceOf: status, code) == .outcomeUnknown)
        }
    }

    @Test func `only after a lost try can a request meet itself`() {
        var request = begun(isRepeatable: true)
        #expect(!request.meetsEarlierTry(409, "request_running"))
        _ = request.next(after: .lost, at: 1, members)
        #expect(request.meetsEarlierTry(409, "request_running"))
        #expect(!request.meetsEarlierTry(409, "other_reactor"))
        #expect(!request.meetsEarlierTry(200, ""))
    }

    // Without the rule, three tries are used up after a quarter of a second.
    @Test func `a request that meets its own first try asks the same node for two seconds`() {
        var request = begun(isRepeatable: true)
        #expect(request.next(after: .lost, at: 1, members) == .lookUp)
        let limit = Forwarding.Limits.request.nanoseconds
        for time in stride(from: 2, to: limit, by: 125_000_000) {
            request.beginTry()
            #expect(request.next(after: .running(owner), at: time, members) == .sendLater(owner))
        }
        request.beginTry()
        // It may move meanwhile.
        var moved = request
        #expect(moved.next(after: .moved(other), at: limit - 1, members) == .send(other))
        #expect(request.next(after: .running(owner), at: limit, members) == .fail(.outcomeUnknown))
    }

    // Nobody repeats it. A node that has begun it is not asked again, however early.
    @Test func `an action of a part is tried for ten seconds, and sent once`() {
        var action = Forwarding(at: 0, isRepeatable: false, .part)
        for number in 1..<Forwarding.Limits.part.tries {
            action.beginTry()
            let time = Int64(number) * 300_000_000
            let ending: Forwarding.Ending = number.isMultiple(of: 2) ? .notSent : .moved(nil)
            #expect(action.next(after: ending, at: time, members) == .lookUp)
            var lost = action
            #expect(lost.next(after: .lost, at: time, members) == .fail(.outcomeUnknown))
            var late = action
            #expect(
                late.next(after: ending, at: 10_000_000_000, members) == .fail(.unreachable))
        }
        action.beginTry()
        #expect(action.next(after: .notSent, at: 9_999_999_999, members) == .fail(.unreachable))
    }

    private func begun(isRepeatable: Bool = false) -> Forwarding {
        var request = Forwarding(at: 0, isRepeatable: isRepeatable)
        request.beginTry()
        return request
    }
}
