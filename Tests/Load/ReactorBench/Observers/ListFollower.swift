/// Follows a list as a stream, which is cut and opened again. What it has applied is the page.
struct ListFollower {
    static let limit = 3
    static let path = "/v1/sessions?tag=status:\(TagClient.values[0])&limit=\(limit)"

    private var sessions: [String: ListedSession]?
    private(set) var events = 0

    /// The page; nil before the snapshot.
    var page: Set<ListedSession>? { sessions.map { Set($0.values) } }

    /// The stream is opened again.
    mutating func begin() { sessions = nil }

    /// Returns the fault that the event shows.
    mutating func receive(_ name: String, _ data: [UInt8]) -> String? {
        let listed = ListedSession.all(in: data)
        let before = listed.first.flatMap { sessions?[$0.id] }
        guard name != "snapshot" else {
            sessions = Dictionary(listed.map { ($0.id, $0) }) { $1 }
            return nil
        }
        guard ["entered", "changed", "left"].contains(name) else { return nil }
        events += 1
        guard let session = listed.first, sessions != nil else { return "\(name) shows nothing" }
        sessions?[session.id] = name == "left" ? nil : session
        let isExpected =
            switch name {
            case "entered": before == nil
            case "changed": before != nil
            default: before == session
            }
        let count = sessions?.count ?? 0
        guard isExpected, count <= Self.limit else {
            return "the list has \(count) sessions after \(name) of \(session), before "
                + (before.map { "\($0)" } ?? "none")
        }
        return nil
    }
}
