import Feeds
import Sessions
import Testing
import Wire

@testable import ReactorHosting

@Suite("The query of a stream of several sessions", .timeLimit(.minutes(60)))
struct JointQueryTests {
    // MARK: Sessions

    @Test(arguments: [
        ("session=a", ["a"]),
        ("session=b&session=a&session=c", ["b", "a", "c"]),
        ("session=a&session=A&session=_-0", ["a", "A", "_-0"]),
        // An escape is the character that it stands for, in names too.
        ("%73ession=%61&session=b%2D%31", ["a", "b-1"]),
        ("&&session=a&&&session=b&", ["a", "b"]),
        // Other names mean nothing, and begin no list of their own.
        ("session=a&Session=b&session%5B%5D=c&sessions=d&x", ["a"]),
        // A comma separates nothing.
        ("only=pulses&session=x&only=states&session=y", ["x", "y"]),
        ("session=\(String(repeating: "n", count: 128))", [String(repeating: "n", count: 128)]),
    ])
    func `the sessions are those of the query, in its order`(
        query: String, expected: [String]
    ) throws {
        #expect(try read(query).sessions.map(\.text) == expected)
    }

    @Test(arguments: [
        ("", "missing_session", "1 to 100"),
        ("only=pulses&from=now", "missing_session", "1 to 100"),
        ("Session=a", "missing_session", "1 to 100"),
        ("session", "bad_session_id", "A-Z a-z 0-9 _ -"),
        ("session=", "bad_session_id", "A-Z a-z 0-9 _ -"),
        ("session=a&session=", "bad_session_id", "A-Z a-z 0-9 _ -"),
        ("session=a,b", "bad_session_id", "a,b"),
        ("session=a%2Fb", "bad_session_id", "a/b"),
        ("session=a+b", "bad_session_id", "a b"),
        ("session=a%00", "bad_session_id", "A-Z a-z 0-9 _ -"),
        ("session=a%0Aevent:", "bad_session_id", "A-Z a-z 0-9 _ -"),
        ("session=%C3%A9", "bad_session_id", "é"),
        ("session=\(String(repeating: "n", count: 129))", "bad_session_id", "1 to 128"),
        ("session=a&session=b&session=a", "repeated_session", "a more than once"),
        ("session=a&session=%61", "repeated_session", "a more than once"),
        ("session=a&session=a&session=/", "repeated_session", "a more than once"),
        ("session=%", "malformed_percent_escape", "Item 1"),
        ("session=a&session=%4", "malformed_percent_escape", "Item 2"),
        ("session=%FF", "malformed_utf8", "Item 1"),
    ])
    func `bad sessions have codes of their own, and sentences with the fault`(
        query: String, code: String, words: String
    ) throws {
        try expectRefusal(query, code, words)
    }

    @Test func `there are as many sessions as the setting permits`() throws {
        let names = (0...100).map { "s\($0)" }
        func query(_ count: Int) -> String {
            names.prefix(count).map { "session=\($0)" }.joined(separator: "&")
        }
        for limit in [1, 3, 99, 100] {
            #expect(
                try read(query(limit), limit: limit).sessions.map(\.text)
                    == Array(names.prefix(limit)))
            // Also beside as many other items as any request may have.
            let others = String(repeating: "&x", count: 100)
            #expect(try read(query(limit) + others, limit: limit).sessions.count == limit)
            try expectRefusal(query(limit + 1), "too_many_sessions", "\(limit)", limit: limit)
            try expectRefusal(
                query(limit + 1) + others, "too_many_sessions", "which is the limit", limit: limit)
        }
        // One too many is the fault that is reported, not that the last one is there twice.
        try expectRefusal(
            "session=a&session=b&session=b", "too_many_sessions", "2", limit: 2)
        try expectRefusal(
            "session=a" + String(repeating: "&x", count: 400), "too_many_query_items", "201")
    }

    // MARK: Positions

    @Test(
        arguments: [
            ("session=a&session=b", nil, "-,-"),
            ("session=a&session=b&after=k3v9x0qa.4,-", nil, "k3v9x0qa.4,-"),
            ("session=a&session=b&after=k3v9x0qa.4%2Cx", nil, "k3v9x0qa.4,x"),
            ("session=a&session=b&after=x,x", nil, "x,x"),
            ("session=a&session=b&after=-,-", "k3v9x0qa.4.1,p0aa31zz.0", "k3v9x0qa.4.1,p0aa31zz.0"),
            // An empty field is none, as for one session; of several items the first one counts.
            ("session=a&session=b&after=-,x", "", "-,x"),
            ("session=a&session=b&after=-,x&after=x,-", nil, "-,x"),
            // The order is that of the sessions, whatever stands between them.
            ("after=k3v9x0qa.4,-&session=b&from=now&session=a", nil, "k3v9x0qa.4,-"),
        ] as [(String, String?, String)])
    func `a vector: the header has precedence over after`(
        query: String, header: String?, expected: String
    ) throws {
        #expect(try read(query, lastEventID: header).vector?.string == expected)
    }

    @Test(
        arguments: [
            ("after=", nil), ("after", nil), ("after=-", nil), ("after=-,-,-", nil),
            ("after=k3v9x0qa.4", nil), ("after=k3v9x0qa.4;-", nil), ("after=k3v9x0qa.4,", nil),
            ("after=k3v9x0qa.4,+-", nil), ("after=a/k3v9x0qa.4", nil),
            ("after=a/k3v9x0qa.4,-", nil),
            ("after=k3v9x0qa.04,-", nil), ("after=K3V9X0QA.4,-", nil), ("after=X,-", nil),
            ("after=%C3%A9,-", nil), ("after=-%00,-", nil),
            ("after=-,-", "k3v9x0qa.4"), ("after=-,-", "b/k3v9x0qa.4"), ("", "-,-,-"),
        ] as [(String, String?)])
    func `what is no vector of these sessions is no error`(
        rest: String, header: String?
    ) throws {
        let query = try read("session=a&session=b&\(rest)", lastEventID: header)
        #expect(query.vector == nil, "each session begins with a reset")
    }

    @Test(arguments: [
        ("", "snapshot"), ("&from=now", "now"), ("&from=start", "start"),
        // For the sessions without a position.
        ("&from=now&after=-", "now"), ("&from=start&after=k3v9x0qa.4", "start"),
        ("&after=-", "snapshot"), ("&from=now&from=start", "now"),
    ])
    func `from is for each session of which the vector says nothing`(
        rest: String, expected: String
    ) throws {
        let query = try read("session=a\(rest)")
        #expect(name(query.start) == expected)
        #expect(query.vector != nil)
    }

    // MARK: The other parameters

    @Test func `kinds, pulses, heartbeats and ids are those of all sessions`() throws {
        let plain = try read("session=a")
        #expect(plain.kinds.pulses && plain.kinds.activities && plain.kinds.states)
        #expect(plain.pulses.isEmpty && !plain.heartbeatIsEvent && !plain.idsAreOwn)
        let chosen = try read(
            "session=a&only=pulses,activities&only=pulses&pulse=b&pulse=c%64&ping=events&ids=own")
        #expect(chosen.kinds.pulses && chosen.kinds.activities && !chosen.kinds.states)
        #expect(chosen.pulses == ["b", "cd"])
        #expect(chosen.heartbeatIsEvent && chosen.idsAreOwn)
        let said = try read("session=a&ping=comments&ids=vector&ids=own")
        #expect(!said.heartbeatIsEvent && !said.idsAreOwn)
    }

    @Test(arguments: [
        ("ids=", "bad_ids", "send vector or own"),
        ("ids=Own", "bad_ids", "ids is Own"),
        ("ids=own,vector", "bad_ids", "ids is own,vector"),
        ("only=", "bad_only", "send pulses, activities or states"),
        ("only=pulses,", "bad_only", "send pulses, activities or states"),
        ("only=log", "bad_only", "only is log"),
        ("ping=on", "bad_ping", "ping is on"),
        ("from=then", "bad_from", "from is then"),
        ("from=", "bad_from", "send now or start"),
        // Also where nothing needs it.
        ("from=then&after=-", "bad_from", "from is then"),
        ("from=start&after=%zz", "malformed_percent_escape", "Item 3"),
    ])
    func `a parameter that is wrong is refused, and named`(
        rest: String, code: String, words: String
    ) throws {
        try expectRefusal("session=a&\(rest)", code, words)
    }

    @Test func `a long value does not make a long sentence`() throws {
        let long = String(repeating: "n", count: 5_000)
        for query in ["session=\(long)", "session=a&ids=\(long)", "session=a&only=\(long)"] {
            let problem = #expect(throws: Problem.self) { try read(query) }
            #expect(problem?.detail.utf8.count ?? .max <= Problem.detailLimit)
        }
    }

    private func read(
        _ query: String, limit: Int = 100, lastEventID: String? = nil
    ) throws -> JointQuery {
        let fields = lastEventID.map { ["Last-Event-ID: \($0)"] } ?? []
        return try JointQuery(
            try HeadOf("GET", "/v1/events?\(query)", fields).request, limit: limit)
    }

    private func expectRefusal(
        _ query: String, _ code: String, _ words: String, limit: Int = 100,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let problem = #expect(throws: Problem.self, sourceLocation: sourceLocation) {
            try read(query, limit: limit)
        }
        #expect(problem?.status == 400, sourceLocation: sourceLocation)
        #expect(problem?.code == code, sourceLocation: sourceLocation)
        #expect(
            problem?.detail.contains(words) == true, "\(problem?.detail ?? "")",
            sourceLocation: sourceLocation)
    }

    private func name(_ start: SubscriptionRequest.Start) -> String {
        switch start {
        case .snapshot: "snapshot"
        case .now: "now"
        case .start: "start"
        case .after(let text): "after \(text)"
        }
    }
}
