internal import JSONCoding
internal import Storage

/// Rebuilds states of a session from the journal: from the snapshot before a version and the later
/// mutations.
///
/// A session stays in memory during a call, unless one of its commits fails.
struct ArchivedStates {
    let session: Session

    typealias Outcome = Result<ArchivedState?, JournalFailure>

    /// Rebuilds the state at `version`; nil if the required entries are no longer kept.
    ///
    /// - Parameter isPlaced: whether ``ArchivedState/number`` has to be the record at which the
    ///   version was reached. If so, a snapshot of an earlier version is used, if there is one.
    func rebuild(
        _ version: UInt64, isPlaced: Bool = false, then act: @escaping (Outcome) -> Void
    ) {
        let key = session.key
        let isEarlier = isPlaced && version > 0
        session.askHistory { archive, answer in
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
        guard session.isAwake || session.isFollowed else { return act(.failure(.leftMemory)) }
        guard let snapshot else { return act(.success(nil)) }
        do throws(RecoveryFault) {
            let fold = try session.makeFold(from: snapshot)
            let state = ArchivedState(fold: fold, number: version == 0 ? 0 : snapshot.number)
            advance(state, after: HistoryPosition(snapshot.number), to: version, then: act)
        } catch {
            session.report(.unreadable("\(error.place): \(error.reason)"))
            act(.success(nil))
        }
    }

    /// Rebuilds a version without an earlier snapshot: it may be the oldest kept one.
    private func rebuildOldest(_ version: UInt64, then act: @escaping (Outcome) -> Void) {
        rebuild(version) { rebuilt in
            guard case .success(var state?) = rebuilt else { return act(rebuilt) }
            head { head in
                act(
                    head.map { head in
                        // A later snapshot of the same version may have replaced the first one.
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
        session.askHistory { archive, answer in
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

    /// The `stateVersion` of the program that has written the mutation behind this version; nil if the
    /// journal does not say.
    func stateVersion(
        behind version: UInt64, then act: @escaping (Result<Int?, JournalFailure>) -> Void
    ) {
        let key = session.key
        session.askHistory { archive, answer in
            archive.stateVersion(of: key, at: version, answer)
        } then: { found in
            act(found)
        }
    }

    /// The oldest version that can be shown, from the journal, which is trimmed independently.
    func oldestVersion(then act: @escaping (Result<UInt64, JournalFailure>) -> Void) {
        head { head in
            let kept = session.history.keptVersion
            act(head.map { min($0?.keptVersion ?? kept, kept) })
        }
    }

    /// The session's head in the journal; nil if the session has ended.
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
    /// The record that made the state, or the snapshot's record if the snapshot has this version.
    fileprivate(set) var number: UInt64

    /// Applies the mutations up to `version`.
    ///
    /// - Returns: the position of the last entry; nil if an entry is missing.
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
