import Testing

@testable import reactor_bench

@Suite("Observers detect faults in lists by tags and in presence", .timeLimit(.minutes(60)))
struct ObserverTests {
    private func page(_ sessions: (String, String)...) -> [UInt8] {
        let entries = sessions.map { id, status in
            #"{"id":"\#(id)","reactor":"order","version":1,"position":"a.1","#
                + #""tags":{"status":"\#(status)"},"changed":"2024-02-29T23:59:59.999Z"}"#
        }
        return Array(#"{"sessions":[\#(entries.joined(separator: ","))]}"#.utf8)
    }

    private func entry(_ id: String, _ changed: Int) -> [UInt8] {
        Array(#"{"id":"\#(id)","tags":{"status":"open"},"changed":"\#(changed)"}"#.utf8)
    }

    @Test func `a list is read with its tags`() {
        let listed = ListedSession.all(in: page(("order-1", "open"), ("order-2", "paid")))
        #expect(listed.map(\.id) == ["order-1", "order-2"])
        #expect(listed.map(\.tags) == [#""status":"open""#, #""status":"paid""#])
        #expect(listed.first?.changed == "2024-02-29T23:59:59.999Z")
        #expect(ListedSession.all(in: entry("a", 1)).map(\.changed) == ["1"])
        #expect(ListedSession.all(in: Array(#"{"sessions":[]}"#.utf8)).isEmpty)
    }

    @Test func `a session is in the list of its value and in no other`() {
        var random = SeededNumbers(seed: 1)
        var client = TagClient(session: "order-1")
        let answers = { (status: Int, body: [UInt8]) in
            _ = client.request(host: "h", &random)
            return client.answered(status, body, &random)
        }
        #expect(answers(201, []) == nil)
        #expect(answers(503, []) == nil)
        #expect(answers(200, page(("order-0", "open"), ("order-1", "open"))) == nil)
        #expect(answers(200, []) == nil)
        // Of the value before or the present one: no list has it with a third.
        #expect(answers(200, page(("order-1", "other"))) != nil)
        #expect(answers(410, []) != nil)
    }

    @Test func `what a follower has applied is the page`() {
        var follower = ListFollower()
        #expect(follower.receive("entered", entry("a", 1)) != nil)
        #expect(follower.receive("snapshot", page(("a", "open"))) == nil)
        #expect(follower.receive("entered", entry("b", 2)) == nil)
        #expect(follower.receive("changed", entry("b", 3)) == nil)
        #expect(follower.page?.count == 2)
        #expect(follower.receive("left", entry("b", 3)) == nil)
        #expect(follower.page == Set(ListedSession.all(in: page(("a", "open")))))
        #expect(follower.receive("left", entry("b", 3)) != nil)
        #expect(follower.receive("changed", entry("c", 4)) != nil)
        #expect(follower.receive("entered", entry("a", 5)) != nil)
    }

    @Test func `a reader sees itself, and only names that readers have`() {
        func fault(_ json: String) -> String? {
            var watcher = PresenceWatcher(name: "ada", session: "s")
            return watcher.receive("presence", Array(json.utf8), known: ["ada", "eve"])
        }
        #expect(fault(#"{"present":["149","ada","eve"],"others":3}"#) == nil)
        #expect(fault(#"{"count":101,"others":3}"#) == nil)
        #expect(fault(#"{"present":["eve"],"others":3}"#) != nil)
        #expect(fault(#"{"present":["ada","150"],"others":3}"#) != nil)
        #expect(fault(#"{"present":["ada","bob"],"others":3}"#) != nil)
        #expect(PresentNames(Array(#"{"present":[],"others":7}"#.utf8))?.others == 7)
    }
}
