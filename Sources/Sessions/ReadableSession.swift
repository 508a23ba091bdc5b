package import Feeds
package import JSONCoding
package import Storage

/// A session whose state is in memory, for requests that only read: a session that decides, or a
/// copy.
package protocol ReadableSession: FeedSource {
    var feed: Feed { get }
    var registration: Registration { get }
    var table: SessionTable { get }
    /// The number of this stay in memory. All sessions and copies of a table are numbered together.
    var incarnation: UInt64 { get }
    /// Whether the state is in memory.
    var isAwake: Bool { get }
    /// Whether requests that only read are carried out.
    var isReadable: Bool { get }
    var hasEnded: Bool { get }
    /// The reply to a request if the session cannot be read when the request arrives, or when it
    /// continues after a wait.
    var absence: Reply.Kind { get }
    /// Counts a copy's state while the copy is in memory; nil if the state is small.
    var copyCharge: WorkCharge? { get }

    /// The tags of the present state.
    var presentTags: SessionTags? { get }

    /// Records that a request uses the session.
    func recordUse()

    /// Forgets a request that waits, because its connection is closed.
    func forget(_ token: UInt64)

    /// Sends the reply once all decisions that it may depend on are committed.
    func answer(_ reply: consuming Reply)

    /// Opens a stream. The answer has the subscriber and the opening bytes.
    func subscribe(_ request: SubscriptionRequest)

    /// Appends the state at `version`; nil for the present state. Appends nothing if it throws.
    func encodeState(
        _ form: StateForm, at version: UInt64?, to out: inout [UInt8]
    ) throws(JSONEncodingFailure)
}

extension ReadableSession {
    package var id: SessionID { feed.id }
    package var generation: Generation { feed.generation }
    package var key: SessionKey { feed.key }

    // MARK: Requests

    /// Reads the present state, or the state at `version`.
    package func read(version: UInt64?, for token: UInt64) {
        guard isReadable else { return answer(.content(content(absence), token: token)) }
        recordUse()
        StateReader(session: self).read(version: version, for: token)
    }

    /// Reads the state at a committed version, as `reduce` made it.
    ///
    /// - Parameters:
    ///   - version: nil for the present version.
    ///   - isWanted: whether the client still waits for it; if not, `act` is not called.
    package func export(
        _ version: UInt64?, for client: WorkClient? = nil,
        while isWanted: @escaping () -> Bool = { true },
        then act: @escaping (Result<SessionExport, ExportFault>) -> Void
    ) {
        StateReader(session: self).export(version, for: client, while: isWanted, then: act)
    }

    /// Reads a page of the log. The page shows the entries that are committed when the reply is
    /// made.
    package func readLog(_ request: LogPageRequest) {
        guard isReadable else { return answer(.content(content(absence), token: request.token)) }
        recordUse()
        feed.history.keepNotes()
        LogReader(session: self).read(request)
    }

    package func shown(at version: UInt64) -> ShownVersion {
        StateReader(session: self).shown(at: version)
    }

    // MARK: Replies

    /// A reply with the newest decided version and position.
    func content(_ kind: Reply.Kind) -> Reply.Content {
        Reply.Content(kind, of: feed, at: feed.history.newest)
    }

    /// A reply with the committed version and position, so it depends on no step that may still
    /// fail.
    func committedContent(_ kind: Reply.Kind) -> Reply.Content {
        Reply.Content(kind, of: feed, at: feed.history.committed)
    }

    /// Replies to a request whose answer was read from the archive. The answer depends on no
    /// uncommitted step and waits for none.
    func answerReader(_ token: UInt64, _ content: Reply.Content) {
        guard feed.archive?.readers.remove(token) != nil else { return }
        table.output.reply(content, to: token)
    }

    func report(_ failure: SessionFailure) { table.output.report(failure, of: feed) }
}
