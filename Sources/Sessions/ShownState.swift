internal import Feeds
internal import Storage

/// The large state that was encoded last on a loop. All requests that read it while it is
/// current share it.
///
/// Why only one: requests at the same time mostly read the same session, and the memory that may be
/// kept without use is one state for each loop, until the next tick.
struct ShownState {
    /// Smaller states are encoded for each request: that costs less than keeping them.
    static let smallestBytes = 16 << 10

    private let incarnation: UInt64
    private let number: UInt64
    private let state: ShownVersion
    /// Whether reads use it. If a stream has encoded it, its decoration may have failed without a
    /// record.
    private let isRead: Bool
    /// Counts the state while a request holds it. The state itself is not counted while it is kept:
    /// each loop has only one.
    private(set) weak var bytes: WorkBytes?

    /// - Parameter number: the session's newest record when the state was encoded.
    init(_ state: ShownVersion, of session: any ReadableSession, at number: UInt64, isRead: Bool) {
        incarnation = session.incarnation
        self.number = number
        self.state = state
        self.isRead = isRead
    }

    /// Requests that hold the state share these bytes from now on.
    mutating func share(_ bytes: WorkBytes?) { self.bytes = bytes }

    /// The encoded state, if it is of this stay of a session in memory at its newest record.
    func present(of session: any ReadableSession, toRead: Bool = false) -> ShownVersion? {
        incarnation == session.incarnation && number == session.feed.history.newest.number
            && (isRead || !toRead) ? state : nil
    }
}
