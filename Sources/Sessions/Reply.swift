package import Feeds
package import JSONCoding
package import Storage

/// An answer that waits for a commit. A step sends its replies in the order in which they
/// were decided.
package enum Reply {
    /// The result of a decision, made with it.
    case content(Content, token: UInt64)
    /// A state that was captured when the request was received. If the commit that it depends on
    /// fails, the state is read again.
    case state(Content, version: UInt64?, token: UInt64)
    /// A stream that begins at record `number`, with the snapshot of that record.
    case subscription(SubscriptionRequest, number: UInt64, snapshot: ChargedBytes?)
    /// A page of the action log. It shows the entries that are committed when it is sent.
    case log(LogPageRequest)
    /// The call of a task, which waits for the commit.
    case applied(CheckedContinuation<Bool, Never>)
    /// An action of a part, which waits for the commit. Called once, with the failure of the
    /// commit or nil.
    case part((JournalFailure?) -> Void)
}

extension Reply {
    package enum Kind {
        /// The session was created or existed already; `isNew` distinguishes 201 from 200.
        case created(isNew: Bool)
        /// Actions were received.
        case received(Receipt)
        /// Actions were received, but their effects have not ended: the wait of `?wait=settled` has
        /// timed out, or the effects were cancelled when the session left memory.
        case unsettled(Receipt)
        /// `If-Match` names another position.
        case conditionFailed
        /// The state as one line of JSON, and its version.
        case state([UInt8], version: UInt64)
        /// The state has no JSON: its type's own encoding failed unexpectedly.
        case unencodable(JSONEncodingFailure)
        /// A session's stub, as JSON.
        case stub([UInt8])
        /// A page of the action log, as JSON.
        case logPage([UInt8])
        /// The session's runtime, as JSON.
        case runtime([UInt8])
        /// The state of this version is not kept; the versions in `kept` are.
        case versionUnknown(kept: ClosedRange<UInt64>)
        /// A stream begins. The receiver writes the opening and its snapshot; the subscriber
        /// writes the rest.
        case subscribed(Subscriber, StreamOpening)
        /// The session has as many streams of different selections as it may.
        case tooManySelections(limit: Int)
        /// The session has as many subscribers as it may.
        case tooManySubscribers(limit: Int)
        case ended
        /// The commit failed, and the decision was undone.
        case failed(JournalFailure)
        /// The reactor has refused the request, or it was refused after its key had been looked up.
        case refused(ActionRefusal, by: Registration)
        /// The stored answer of an earlier request with the same `Idempotency-Key`.
        case replayed(StoredAnswer)
        /// The request with this `Idempotency-Key` has no answer yet.
        case keyRunning
        /// The `Idempotency-Key` belongs to a request with another body.
        case keyReused
        /// There is no room for the answer (``WorkBudget``).
        case overBudget
        /// The answer is in the journal, which cannot be read.
        case unreadable(JournalFailure)
        /// The session has ended.
        case gone
    }

    /// An answer, with the session's version and position.
    package struct Content {
        package var kind: Kind
        package let feed: Feed
        package var version: UInt64
        package var position: Position
        /// The tags of a present state; nil if its reactor declares none.
        package var tags: SessionTags?
        /// The charge of a large answer, until the connection has accepted it.
        package var charge: WorkCharge?

        init(_ kind: Kind, of feed: Feed, at end: HistoryEnd) {
            self.kind = kind
            self.feed = feed
            version = end.version
            position = Position(feed.generation, end.number)
        }
    }
}
