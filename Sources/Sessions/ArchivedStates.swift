internal import JSONCoding
internal import Storage

/// Rebuilds states of a session from the journal: the snapshot before a version, and the mutations
/// since.
///
/// Every call keeps the session in memory until it has ended; should a commit fail meanwhile, the
/// session leaves memory all the same.
struct ArchivedStates {
    let session: Session

    typealias Outcome = Result<ArchivedState?, JournalFailure>

    /// Rebuilds the state as it was at `version`; nil if what that needs is no longer kept.
    ///
    /// - Parameter isPlaced: whether ``ArchivedState/number`` has to be the record at which the
    ///   version was reached: then the snapshot is of an earlier version, if there is one.
    func rebuild(
        _ version: UInt64, isPlaced: Bool = false, then act: @escaping (Outcome) -> Void
    ) {
        let key = session.key
        let isEarlier = isPlaced && version > 0
        session.askArchive { archive, answer in
            archive.snapshot(of: key, at: isEarlier ? version - 1 : version, answer)
        } then: { snapshot in
            switch snapshot {
            case .failure(let failure): act(.failure(failure))
            case .success(nil) where isEarlier && session.isAwake:
                rebuildOldest(version, then: act)
            case .success(let snapshot): rebuild(version, from: snapshot, then: act)
            }
        }
    }

    private func rebuild(
        _ version: UInt64, from snapshot: Snapshot?, then act: @escaping (Outcome) -> Void
    ) {
        guard let machine = session.machine else { return act(.failure(.leftMemory)) }
        guard let snapshot else { return act(.success(nil)) }
        do throws(RecoveryFault) {
            let fold = try machine.makeFold(from: snapshot)
            let state = ArchivedState(fold: fold, number: version == 0 ? 0 : snapshot.number)
            advance(state, after: HistoryPosition(snapshot.number), to: version, then: act)
        } catch {
            session.report(.unreadable("\(error.place): \(error.reason)"))
            act(.success(nil))
        }
    }

    /// The oldest version that is kept may be this one: then what was before its snapshot is gone.
    private func rebuildOldest(_ version: UInt64, then act: @escaping (Outcome) -> Void) {
        rebuild(version) { rebuilt in
            guard case .success(var state?) = rebuilt else { return act(rebuilt) }
            head { head in
                act(
                    head.map { head in
                        // A later snapshot of the same version may have taken its place.
                        if let head, head.keptVersion == version {
                            state.number = min(state.number, head.keptAfter)
                        }
                        return state
                    })
            }
        }
    }

    private func advance(
        _ state: ArchivedState, after position: HistoryPosition, to version: UInt64,
        then act: @escaping (Outcome) -> Void
    ) {
        guard state.fold.version < version else { return act(.success(state)) }
        let (key, last) = (session.key, session.history.committed.number)
        session.askArchive { archive, answer in
            archive.records(
                of: key, after: position, through: last, limitBytes: 262_144, answer)
        } then: { records in
            switch records {
            case .failure(let failure): act(.failure(failure))
            case .success(let records):
                var state = state
                do throws(RecoveryFault) {
                    guard let reached = try state.apply(records, after: position, to: version)
                    else { return act(.success(nil)) }
                    advance(state, after: reached, to: version, then: act)
                } catch {
                    session.report(.unreadable("\(error.place): \(error.reason)"))
                    act(.success(nil))
                }
            }
        }
    }

    /// The oldest version that can be shown: the journal trims on its own, and knows.
    func oldestVersion(then act: @escaping (Result<UInt64, JournalFailure>) -> Void) {
        head { head in
            let kept = session.history.keptVersion
            act(head.map { min($0?.keptVersion ?? kept, kept) })
        }
    }

    /// The journal's head of this life; nil if it is over.
    private func head(then act: @escaping (Result<SavedHead?, JournalFailure>) -> Void) {
        let key = session.key
        session.askArchive { archive, answer in
            archive.head(of: key.session, answer)
        } then: { head in
            act(head.map { $0?.key == key && $0?.isDeleted == false ? $0 : nil })
        }
    }
}

/// A state that was rebuilt from the journal.
struct ArchivedState {
    let fold: any StateFold
    /// The record that made it, or, where it began with a snapshot of its version, the snapshot's.
    fileprivate(set) var number: UInt64

    /// Applies the mutations up to `version`.
    ///
    /// - Returns: the position of the last entry that was read; nil if one is missing.
    fileprivate mutating func apply(
        _ entries: [HistoryEntry], after position: HistoryPosition, to version: UInt64
    ) throws(RecoveryFault) -> HistoryPosition? {
        var reached = position
        for entry in entries {
            guard entry.number == reached.nextNumber else { return nil }
            reached = entry.position
            guard entry.kind == .mutation, fold.version < version else { continue }
            try fold.applyNext(entry)
            number = entry.number
        }
        return reached == position ? nil : reached
    }

    /// The state as `reduce` made it.
    func encodeRaw() -> Result<[UInt8], JSONEncodingFailure> {
        var state: [UInt8] = []
        do {
            try fold.encodeRaw(to: &state)
            return .success(state)
        } catch {
            return .failure(error)
        }
    }
}
