package import Feeds
package import Storage

/// Deletes sessions that cannot be loaded: today's code cannot rebuild them, or their records
/// cannot be read.
///
/// Design: a record of the end needs only the session's position, which the journal has. While a
/// deletion is under way the session is not loaded: requests for it wait for the outcome.
package struct SessionDeleter {
    package let table: SessionTable

    /// Deletes a session that ``SessionTable/find(_:)`` or a load found quarantined or unreadable.
    /// Calls `act` later, on this loop.
    func delete(_ id: SessionID, then act: @escaping (DeletionOutcome) -> Void) {
        guard !table.loads.operations.isLoading(id) else { return deleteAfterLoad(id, then: act) }
        guard table.loads.operations.addDeleter(act, of: id) else { return }
        if let placement = table.placement { return placement.delete(id, by: self) }
        table.ask { archive, answer in
            archive.head(of: id.text, answer)
        } then: { result in
            switch result {
            case .failure(let failure): finish(id, .unreadable(failure))
            case .success(nil): finishMissing(id)
            case .success(let head?) where head.isDeleted: finishEnded(id)
            case .success(let head?): commitEnd(of: id, head)
            }
        }
    }

    /// The journal has no session with this id.
    package func finishMissing(_ id: SessionID) {
        table.abandonReaders(of: id)
        finish(id, .overtaken(.nothing))
    }

    /// The session was deleted before.
    package func finishEnded(_ id: SessionID) {
        recordEnd(of: id)
        finish(id, .overtaken(.ended))
    }

    /// Another request is loading the session just now.
    private func deleteAfterLoad(
        _ id: SessionID, then act: @escaping (DeletionOutcome) -> Void
    ) {
        SessionLoader(table: table).load(id) { loaded in
            switch loaded {
            case .quarantined, .unreadable, .noNode: delete(id, then: act)
            case .session, .copy, .ended, .nothing, .noRoom, .overBudget, .notInMemory, .elsewhere:
                act(.overtaken(loaded))
            }
        }
    }

    /// - Parameter owned: nil if no other node writes to the journal.
    package func commitEnd(
        of id: SessionID, _ head: SavedHead, under owned: OwnedSession? = nil
    ) {
        let end = HistoryEntry(
            session: head.key.session, reactor: head.reactor, generation: head.key.generation,
            head: .init(
                .deleted, at: HistoryPosition(head.end.number + 1), version: head.end.version,
                time: table.time))
        table.loads.operations.setOwner(head.owner, of: id)
        var batch = Batch(
            records: [end], after: [head.key: head.end.position],
            lineage: table.sessions.nextIncarnation())
        if let owned { batch.decide(under: owned) }
        table.commits.submit(batch, deleting: id, head.key, owned, in: table)
    }

    /// The journal has ended the batch of a deletion.
    func batchEnded(_ id: SessionID, _ owned: OwnedSession?, _ failure: JournalFailure?) {
        table.services.tagChanges.count()
        guard let failure else {
            if let owner = table.loads.operations.owner(of: id) {
                table.services.owners?.ended(owner)
            }
            recordEnd(of: id)
            return finish(id, .deleted)
        }
        if failure.reason != .moved, let owned { table.placement?.giveUp(owned) }
        // The end may be written all the same: the next request reads the journal again.
        table.absent.removeFault(of: id)
        finish(id, .failed(failure))
    }

    private func recordEnd(of id: SessionID) {
        table.absent.removeFault(of: id)
        table.loads.dueAtNextTick.remove(id)
        table.rememberEnded(id)
        // The subscribers reconnect, and are refused because the session has ended.
        table.abandonReaders(of: id)
    }

    /// Ends the deletion: calls all callers back. The first deleter gets the outcome; for the
    /// others the session had ended before.
    package func finish(_ id: SessionID, _ outcome: DeletionOutcome) {
        guard let operation = table.loads.operations.remove(id) else { return }
        for (index, act) in operation.deleters.enumerated() {
            if case .deleted = outcome, index > 0 {
                act(.overtaken(.ended))
            } else {
                act(outcome)
            }
        }
        for caller in operation.callers {
            if let found = table.present(id) {
                caller.act(found)
            } else {
                SessionLoader(table: table).load(
                    id, while: caller.isWanted, then: caller.act)
            }
        }
    }
}
