import Testing

/// A client of several sessions: checks the vectors of its streams, and keeps each
/// session's events.
///
/// Invariant: the vector of an event is that of the event before with the entry of its session
/// moved forward. A `reset` moves nothing; after it the entry may be any position.
struct VectorReader: Sendable {
    let sessions: [String]
    let idsAreOwn: Bool
    /// The position of each session.
    private(set) var entries: [String]
    /// The events of each session under their own names, each with its session's entry as id.
    private(set) var events: [[Event]]
    /// The events of the connection.
    private(set) var others: [Event] = []
    private let indices: [String: Int]
    private var wasReset: Set<Int> = []
    /// The id of the last block of this connection that had one.
    private var lastID = ""

    /// - Parameter entries: where the client continues; by default it has got nothing.
    init(_ sessions: [String], from entries: [String]? = nil, idsAreOwn: Bool = false) {
        self.sessions = sessions
        self.idsAreOwn = idsAreOwn
        self.entries = entries ?? sessions.map { _ in "-" }
        events = sessions.map { _ in [] }
        indices = Dictionary(uniqueKeysWithValues: zip(sessions, sessions.indices))
    }

    /// The value of `Last-Event-ID`.
    var vector: String { entries.joined(separator: ",") }

    /// The request's target.
    ///
    /// - Parameter more: further items of the query, each after an ampersand.
    func path(_ more: String = "") -> String { Self.path(sessions, more) }

    static func path(_ sessions: [String], _ more: String = "") -> String {
        "/v1/events?" + sessions.map { "session=\($0)" }.joined(separator: "&") + more
    }

    /// Opens a stream that continues after the vector; it must be one.
    mutating func open(
        _ client: Client, _ more: String = "", byHeader: Bool = false
    ) async throws -> EventStream {
        lastID = ""
        let stream =
            byHeader
            ? try await client.open(path(more), [("Last-Event-ID", vector)])
            : try await client.open(path(more + "&after=\(vector)"))
        guard await stream.head.status == 200 else {
            throw UnexpectedAnswer(response: await stream.response())
        }
        return stream
    }

    /// Reads until the condition holds.
    mutating func read(
        _ stream: EventStream, until isEnough: (VectorReader) -> Bool
    ) async throws {
        while !isEnough(self) { read(try await stream.nextItem()) }
    }

    mutating func read(_ item: EventParser.Item) {
        switch item {
        case .comment, .retry: break
        case .unknown(let field): Issue.record("the field \(field)")
        case .priming(let id): move(nil, to: id)
        case .event(let event): read(event)
        }
    }

    private mutating func read(_ event: Event) {
        guard let slash = event.name.firstIndex(of: "/") else {
            #expect(event.id == lastID, "\(event)")
            return others.append(event)
        }
        let name = String(event.name[slash...].dropFirst())
        guard let index = indices[String(event.name[..<slash])] else {
            Issue.record("\(event) of no session")
            return
        }
        if name == "reset" || name == "problem" {
            #expect(event.id == lastID, "\(event)")
            if name == "reset" { wasReset.insert(index) }
        } else {
            move(index, to: event.id)
            #expect((name == "end") == (entries[index] == "x"), "\(event)")
        }
        events[index].append(
            Event(name: name, data: event.data, id: entries[index], cause: event.cause))
    }

    /// - Parameter index: nil for a block without an event, which may leave the entry where it is.
    private mutating func move(_ index: Int?, to id: String) {
        lastID = id
        let now = idsAreOwn ? entries(after: id) : Self.split(id)
        guard now.count == entries.count else {
            Issue.record("\(id) after \(vector)")
            return
        }
        let changed = now.indices.filter { now[$0] != entries[$0] }
        #expect(
            changed.count < 2 && (index == nil || changed.first == index), "\(id) after \(vector)")
        for index in changed {
            let isForward =
                wasReset.contains(index) || Self.isForward(from: entries[index], to: now[index])
            #expect(isForward, "\(id) after \(vector)")
            wasReset.remove(index)
        }
        entries = now
    }

    /// The vector after an id of `ids=own`.
    private func entries(after id: String) -> [String] {
        let parts = id.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, let index = indices[parts[0]] else { return [] }
        var entries = entries
        entries[index] = parts[1]
        return entries
    }

    private static func split(_ vector: String) -> [String] {
        vector.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    private static func isForward(from before: String, to after: String) -> Bool {
        switch (before, after) {
        case ("x", _), (_, "-"): return false
        case (_, "x"), ("-", _): return true
        default:
            let (old, new) = (before.split(separator: "."), after.split(separator: "."))
            // The bare position is after all parts of its record.
            let order = { (parts: [Substring]) in
                [Int(parts[1]) ?? 0, parts.count > 2 ? Int(parts[2]) ?? 0 : .max]
            }
            return old[0] == new[0] && order(old).lexicographicallyPrecedes(order(new))
        }
    }
}

extension Client {
    /// Sessions of the reactor, in order of their creation.
    func sessions(_ count: Int, of reactor: String) async throws -> [SessionHandle] {
        var sessions: [SessionHandle] = []
        while sessions.count < count { sessions.append(try await session(reactor)) }
        return sessions
    }
}

extension SessionHandle {
    /// Sets two pulses of a session of `pulses`: one record with two events, and one of the state.
    func setPair(_ number: Int) async throws {
        try await post(#"{"type":"setPair","a":\#(number),"b":\#(-number)}"#)
    }

    func position(_ number: Int) -> String { "\(generation).\(number)" }
}
