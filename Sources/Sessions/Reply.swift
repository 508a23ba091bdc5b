package import JSONCoding
package import Storage

/// An answer that is due, in the order in which answers were decided.
package enum Reply {
    /// Says what was decided; made when it was decided.
    case content(Content, token: UInt64)
    /// A reading of the state, captured when it was asked for. Should the commit that it depends
    /// on fail, it is read again.
    case state(Content, version: UInt64?, token: UInt64)
    /// A stream that begins at record `number`, with the snapshot of that moment.
    case subscription(SubscriptionRequest, number: UInt64, snapshot: [UInt8]?)
    /// A page of the action log; it shows what is committed when it is due.
    case log(LogPageRequest)
    /// A task waits for what it brought in.
    case applied(CheckedContinuation<Bool, Never>)
}

extension Reply {
    package enum Kind {
        /// `PUT` or `POST` of a session; `isNew` distinguishes 201 from 200.
        case created(isNew: Bool)
        /// Actions were received; `rejected` are the places of those that a hook turned down.
        case received(rejected: [Int], isBatch: Bool)
        /// `?wait=settled` gave up waiting; the effects continue.
        case unsettled
        /// `If-Match` names another position.
        case conditionFailed
        /// The state as one line of JSON, and the version that it is of.
        case state([UInt8], version: UInt64)
        /// The state has no JSON: its type encodes itself in a way that was not to be foreseen.
        case unencodable(JSONEncodingFailure)
        /// A session's stub, as JSON.
        case stub([UInt8])
        /// A page of the action log, as JSON.
        case logPage([UInt8])
        /// No state of this version can be shown; those of `kept` can.
        case versionUnknown(kept: ClosedRange<UInt64>)
        /// A stream begins: write the opening, then its snapshot, then leave the rest to the
        /// subscriber.
        case subscribed(Subscriber, StreamOpening)
        /// A stream of one more selection than a session frames at once.
        case tooManySelections(limit: Int)
        case ended
        /// The commit failed: nothing of it happened.
        case failed(JournalFailure)
        /// Nothing was tried; for requests that had to wait before it was known.
        case refused(ActionRefusal)
        /// The `Idempotency-Key` was used before: the answer of then.
        case replayed(StoredAnswer)
        /// The request with this `Idempotency-Key` has no answer yet.
        case keyRunning
        /// The `Idempotency-Key` belongs to a request with another body.
        case keyReused
        /// The answer is in the journal, which can't be read.
        case unreadable(JournalFailure)
        /// The session has ended.
        case gone
    }

    /// An answer, and where the session stood then.
    package struct Content {
        package var kind: Kind
        package var session: Session
        package var version: UInt64
        package var position: Position
    }
}
