package import Feeds
package import JSONCoding
package import Storage

/// A copy of a session for readers: the state that the journal had when the session was read.
/// Another node decides on the session, or no node does.
///
/// Design: a copy has a feed and a state, but no machine. So it cannot decide.
package final class SessionCopy: ReadableSession {
    package let feed: Feed
    package let registration: Registration
    package let table: SessionTable
    package let incarnation: UInt64
    private let snapshotBytes: Int
    /// The bytes of the state as JSON; nil: they are not known, because a few bytes of mutations
    /// can make a large state.
    private var stateBytes: Int?
    private let fold: any StateFold
    package private(set) var isAwake = true
    package var copyCharge: WorkCharge?
    /// Whether later reads may be shown the copy: it is small, or counts as optional bytes.
    package var mayBeKept = false
    /// Streams that open together. One search finds the parts of the state for all of them.
    private var requests: [SubscriptionRequest] = []

    /// - Parameter feed: the session's feed. It has this state until the copy is closed or
    ///   released.
    /// - Throws: what a load of the session would throw.
    package init(
        _ saved: SavedSession, _ feed: Feed, _ registration: Registration, in table: SessionTable
    ) throws(RecoveryFault) {
        self.feed = feed
        self.registration = registration
        self.table = table
        incarnation = table.sessions.nextIncarnation()
        snapshotBytes = saved.snapshot?.state.count ?? 0
        stateBytes = saved.mutations.isEmpty ? snapshotBytes : nil
        table.pass.count(snapshotBytes)
        table.beginWork(.rebuilding, of: feed, incarnation)
        defer { table.endWork(of: feed) }
        fold = try registration.fold(of: saved)
        feed.history.restart(at: saved.end, keepsNotes: table.journal.keepsRecords)
        feed.source = self
    }

    deinit { close() }

    /// Removes the state from memory.
    package func close() {
        guard isAwake else { return }
        isAwake = false
        feed.source = nil
    }

    package var isDeciding: Bool { false }
    package var isReadable: Bool { isAwake }
    package var hasEnded: Bool { false }
    package var absence: Reply.Kind { .failed(.leftMemory) }

    package var presentTags: SessionTags? {
        (fold as? any TaggedFold).map { SessionTags(SessionTags.kept(of: $0.tags).kept) }
    }

    package func recordUse() {}

    package func forget(_ token: UInt64) { feed.archive?.readers.remove(token) }

    package func answer(_ reply: consuming Reply) {
        switch reply {
        case .content(let content, let token), .state(let content, _, let token):
            table.output.reply(content, to: token)
        case .log(let request): LogReader(session: self).deliver(request)
        case .subscription, .applied, .part: preconditionFailure("a copy decides nothing")
        }
    }

    /// Collects the request; ``openStreams()`` opens the stream.
    package func subscribe(_ request: SubscriptionRequest) {
        guard isAwake else { return table.output.reply(content(absence), to: request.token) }
        requests.append(request)
    }

    /// Opens the streams that were requested. Called before the state leaves memory.
    package func openStreams() {
        guard let opener = StreamOpener(feed) else { return }
        defer { requests = [] }
        for request in requests {
            if request.selection.log { feed.history.keepNotes() }
            opener.openNow(request)
        }
    }

    // MARK: The state

    package var stateEstimate: Int { min(stateBytes ?? snapshotBytes, table.limits.stateBytes) }

    /// Finds out the bytes of the state, unless it was encoded already.
    ///
    /// - Returns: nil if it has no JSON.
    package func measure() -> Int? {
        if stateBytes == nil {
            var state: [UInt8] = []
            try? encodeState(.raw, at: nil, to: &state)
            table.pass.count(state.count)
        }
        return stateBytes
    }

    package func encodeState(
        _ form: StateForm, at version: UInt64?, to out: inout [UInt8]
    ) throws(JSONEncodingFailure) {
        let start = out.count
        switch form {
        case .raw: try fold.encodeRaw(to: &out)
        case .shown: reportBare(try fold.encodeShown(to: &out))
        }
        stateBytes = out.count - start
    }

    package func appendPulses(_ chosen: UInt64, at version: UInt64, to out: inout [UInt8]) {
        reportBare(fold.encodePulses(chosen, to: &out))
    }

    private func reportBare(_ failure: String?) {
        if let failure { report(.failed(place: "transformState", error: failure)) }
    }

    /// A copy has no mutations in memory.
    package func appendMutation(to version: UInt64, _ out: inout [UInt8]) {}

    package func endReplay() {}

    package func pointers() -> [JSONPointer] {
        feed.pointers + requests.compactMap(\.selection.pointer)
    }

    package func forget(before version: UInt64, atOnce: Bool) -> Bool { false }
}
