package import Storage

// The end of a session that can't come into memory: today's code can't rebuild it, or its records
// can't be read.
//
// Design: its journal says where it stands, and that is all that a record of its end needs. While
// the deletion is under way nobody reads the session: requests for it wait, and find what became of
// it. What was read before and is answered later can't bring it back.
extension SessionTable {
    /// The outcome of a deletion.
    package enum Deletion {
        /// The end is committed.
        case deleted
        /// Somebody else was first, or the session is in memory by now.
        case overtaken(SessionLookup)
        /// Where the session stands can't be read; nothing happened.
        case unreadable(JournalFailure)
        /// The commit failed.
        case failed(JournalFailure)
    }

    /// Who waits for a deletion.
    struct PendingDeletion {
        /// The callers that want it; the first began it.
        var deleters: [(Deletion) -> Void]
        /// Requests for the session.
        var followers: [(SessionLookup) -> Void] = []
    }

    /// Deletes a session of which ``find(_:)`` or ``wake(_:then:)`` has said that it is quarantined
    /// or unreadable. `act` comes later, on this loop.
    package func delete(_ id: SessionID, then act: @escaping (Deletion) -> Void) {
        if deletions[id] != nil {
            deletions[id]?.deleters.append(act)
            return
        }
        guard waking[id] == nil else { return deleteAwoken(id, then: act) }
        deletions[id] = PendingDeletion(deleters: [act])
        ask { archive, answer in
            archive.head(of: id.text, answer)
        } then: { [unowned self] result in
            switch result {
            case .failure(let failure): finishDeletion(id, .unreadable(failure))
            case .success(nil):
                asleep(id)?.abandonReaders()
                finishDeletion(id, .overtaken(.nothing))
            case .success(let head?) where head.isDeleted:
                noteDeleted(id)
                finishDeletion(id, .overtaken(.ended))
            case .success(let head?): commitEnd(of: id, head)
            }
        }
    }

    /// Somebody else is reading it just now.
    private func deleteAwoken(_ id: SessionID, then act: @escaping (Deletion) -> Void) {
        wake(id) { [unowned self] found in
            switch found {
            case .quarantined, .unreadable: delete(id, then: act)
            case .session, .ended, .nothing, .noRoom, .notInMemory: act(.overtaken(found))
            }
        }
    }

    private func commitEnd(of id: SessionID, _ head: SavedHead) {
        let end = HistoryEntry(
            session: head.key.session, reactor: head.reactor, generation: head.key.generation,
            head: .init(
                .deleted, at: HistoryPosition(head.end.number + 1), version: head.end.version,
                time: time))
        commits.handIn(Batch(records: [end]), deleting: id, in: self)
    }

    /// The journal has ended the batch of a deletion.
    func deletionEnded(_ id: SessionID, _ failure: JournalFailure?) {
        guard let failure else {
            noteDeleted(id)
            return finishDeletion(id, .deleted)
        }
        // It may be written all the same: the next request looks.
        forgetFault(of: id)
        finishDeletion(id, .failed(failure))
    }

    private func noteDeleted(_ id: SessionID) {
        forgetFault(of: id)
        deaf.remove(id)
        deafUntilTick.remove(id)
        remember(id)
        // They come back, and find that it has ended.
        asleep(id)?.abandonReaders()
    }

    /// Answers everybody who waited. The first deleter hears what happened; to the others it had
    /// happened already.
    private func finishDeletion(_ id: SessionID, _ outcome: Deletion) {
        guard let pending = deletions.removeValue(forKey: id) else { return }
        for (index, act) in pending.deleters.enumerated() {
            if case .deleted = outcome, index > 0 {
                act(.overtaken(.ended))
            } else {
                act(outcome)
            }
        }
        for act in pending.followers {
            if let found = present(id) { act(found) } else { wake(id, then: act) }
        }
    }
}
