package import Cluster

/// The result of a commit.
package enum Verdict: Sendable, Equatable {
    /// All of the batch is in the journal.
    case committed
    /// The parts of these sessions were refused; all other parts are in the journal.
    case partial([SessionKey: CommitRefusal])
    /// Nothing of the batch is in the journal or, with `.outcomeUnknown`, perhaps some parts are.
    case failed(JournalFailure)

    package init(refusing refused: [SessionKey: CommitRefusal]) {
        self = refused.isEmpty ? .committed : .partial(refused)
    }

    /// The reason that the part of this session is not in the journal; nil if it is.
    package func failure(of key: SessionKey) -> JournalFailure? {
        switch self {
        case .committed: nil
        case .partial(let refused): refused[key]?.failure(of: key)
        case .failed(let failure): failure
        }
    }
}

/// Why a journal refuses the part that a batch has of one session. Unless it has failed, nothing of
/// the part is in the journal: its writer has decided it upon a history that is not the journal's.
package enum CommitRefusal: Error, Equatable {
    /// The session's history ends here, and not at the position that the part continues.
    case endsAt(HistoryPosition)
    /// The part creates a session that exists.
    case exists
    /// No session of this generation is alive.
    case absent
    /// Another process owns the session, or did since the part was decided; nil: unknown which.
    case moved(Node?)
    /// The part was decided upon an earlier one that is not in the journal.
    case lostLineage
    /// The part could not be written. With `.outcomeUnknown` it may be in the journal nevertheless.
    case failed(JournalFailure)

    /// The failure of a request that was decided with the part.
    package func failure(of key: SessionKey) -> JournalFailure {
        let reason: String
        switch self {
        case .endsAt(let end): reason = "its history ends at \(key.generation).\(end.text)"
        case .exists: reason = "it exists already"
        case .absent: reason = "the journal does not have this generation of it"
        case .moved:
            return JournalFailure(
                reason: .moved, detail: "another node decides on the session \(key.session)")
        case .lostLineage: reason = "an earlier commit of the session has failed"
        case .failed(let failure): return failure
        }
        return JournalFailure(
            reason: .unavailable,
            detail: "the journal refuses \(key.session) \(key.generation): \(reason)")
    }
}

/// The end of a session's history upon which a part without records was decided.
package struct ExpectedEnd: Sendable, Equatable {
    package var key: SessionKey
    package var position: HistoryPosition
    package var lineage: UInt64
    package var epoch: Int64 = 0

    package init(_ key: SessionKey, at position: HistoryPosition, lineage: UInt64) {
        self.key = key
        self.position = position
        self.lineage = lineage
    }
}

extension HistoryPosition {
    /// For messages.
    fileprivate var text: String { part == 0 ? "\(number)" : "\(number).\(part)" }
}
