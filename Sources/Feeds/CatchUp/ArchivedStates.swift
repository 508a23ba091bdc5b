package import JSONCoding
package import Storage

/// Rebuilds states of a session from the journal: from the snapshot before a version and the later
/// mutations.
///
/// A session stays in memory during a call, unless one of its commits fails.
package struct ArchivedStates {
    let feed: Feed

    package init(feed: Feed) { self.feed = feed }

    /// The state; nil if the required entries are no longer kept.
    package typealias Outcome = Result<ArchivedState?, Fault>

    package enum Fault: Error {
        case unreadable(JournalFailure)
        /// There is no room for the state (``WorkBudget``).
        case overBudget
    }

    /// Rebuilds the state at `version`. Calls `act` later, or not if the state is not wanted any
    /// more.
    ///
    /// - Parameter isPlaced: whether ``ArchivedState/number`` has to be the record at which the
    ///   version was reached. If so, a snapshot of an earlier version is used, if there is one.
    package func rebuild(
        _ version: UInt64, isPlaced: Bool = false, for request: RebuildQueue.Request,
        then act: @escaping (Outcome) -> Void
    ) {
        let loop = feed.loop
        let bytes = max(feed.stateEstimate, feed.archive?.rebuiltBytes ?? 0)
        // The session stays in memory while the rebuild waits for others.
        feed.beginArchiveRead()
        loop.rebuilds.add(request, ofBytes: bytes, in: loop) { turn in
            switch turn {
            case .unwanted: feed.endArchiveRead()
            case .refused:
                act(.failure(.overBudget))
                feed.endArchiveRead()
            case .begun(let charge):
                let kind: RebuildQueue.Kind = charge == nil ? .small : .large
                begin(version, isPlaced: isPlaced, Rebuild(request: request, charge: charge)) {
                    switch $0 {
                    case .done(let outcome): act(outcome)
                    case .unwanted: break
                    case .isLarge: rebuild(version, isPlaced: isPlaced, for: request, then: act)
                    }
                    loop.rebuilds.end(kind, in: loop)
                    feed.endArchiveRead()
                }
            }
        }
    }

    /// A rebuild that was begun.
    private final class Rebuild {
        let request: RebuildQueue.Request
        var charge: WorkCharge?

        init(request: RebuildQueue.Request, charge: WorkCharge?) {
            self.request = request
            self.charge = charge
        }
    }

    /// The end of a rebuild that was begun.
    private enum Ending {
        case done(Outcome)
        /// The state is not wanted any more.
        case unwanted
        /// It was taken for a small one: it waits for the others that are large.
        case isLarge

        static func failure(_ failure: JournalFailure) -> Ending {
            .done(.failure(.unreadable(failure)))
        }
    }

    /// Called once.
    private typealias Ended = (Ending) -> Void

    private func begin(
        _ version: UInt64, isPlaced: Bool, _ rebuild: Rebuild, then act: @escaping Ended
    ) {
        let key = feed.key
        let isEarlier = isPlaced && version > 0
        feed.askHistory { archive, answer in
            archive.snapshot(of: key, at: isEarlier ? version - 1 : version, answer)
        } then: { snapshot in
            guard rebuild.request.isWanted() else { return act(.unwanted) }
            switch snapshot {
            case .failure(let failure): act(.failure(failure))
            case .success(nil) where isEarlier && feed.isAwake:
                beginOldest(version, rebuild, then: act)
            case .success(let snapshot): self.rebuild(version, from: snapshot, rebuild, then: act)
            }
        }
    }

    private func rebuild(
        _ version: UInt64, from snapshot: Snapshot?, _ rebuild: Rebuild,
        then act: @escaping Ended
    ) {
        guard feed.isAwake || feed.isElsewhere else {
            return act(.failure(.leftMemory))
        }
        guard let snapshot else { return act(.done(.success(nil))) }
        feed.archive?.noteRebuilt(snapshot.state.count)
        guard rebuild.charge != nil || snapshot.state.count <= WorkBudget.smallestBytes else {
            return act(.isLarge)
        }
        let (loop, bytes) = (feed.loop, RebuildQueue.factor * snapshot.state.count)
        do throws(WorkOverload) {
            if rebuild.charge != nil {
                rebuild.charge = try loop.adjust(
                    rebuild.charge, to: bytes, for: rebuild.request.client)
            }
        } catch {
            return act(.done(.failure(.overBudget)))
        }
        do throws(RecoveryFault) {
            let fold = try feed.catalog.makeFold(
                feed.id.text, feed.creation, snapshot)
            loop.pass.count(snapshot.state.count)
            let state = ArchivedState(
                fold: fold, bytes: snapshot.state.count,
                number: version == 0 ? 0 : snapshot.number, charge: rebuild.charge)
            let position = HistoryPosition(snapshot.number)
            guard rebuild.charge != nil else {
                return advance(state, after: position, to: version, rebuild, then: act)
            }
            // Decoding has used its share of the pass. The snapshot's bytes are released after it.
            feed.beginArchiveRead()
            loop.background.append {
                advance(state, after: position, to: version, rebuild, then: act)
                feed.endArchiveRead()
            }
        } catch {
            feed.report(.unreadable("\(error.place): \(error.reason)"))
            act(.done(.success(nil)))
        }
    }

    /// Rebuilds a version without an earlier snapshot: it may be the oldest kept one.
    private func beginOldest(_ version: UInt64, _ rebuild: Rebuild, then act: @escaping Ended) {
        begin(version, isPlaced: false, rebuild) { rebuilt in
            guard case .done(.success(var state?)) = rebuilt else { return act(rebuilt) }
            head { head in
                act(
                    .done(
                        head.mapError(Fault.unreadable).map { head in
                            // A later snapshot of the same version may have replaced the first one.
                            if let head, head.keptVersion == version {
                                state.number = min(state.number, head.keptAfter)
                            }
                            return state
                        }))
            }
        }
    }

    private func advance(
        _ state: ArchivedState, after position: HistoryPosition, to version: UInt64,
        _ rebuild: Rebuild, then act: @escaping Ended
    ) {
        guard rebuild.request.isWanted() else { return act(.unwanted) }
        guard state.fold.version < version else { return act(.done(.success(state))) }
        let (key, last) = (feed.key, feed.history.committed.number)
        feed.askHistory { archive, answer in
            archive.records(
                of: key, after: position, through: last, limitBytes: 262_144, answer)
        } then: { records in
            switch records {
            case .failure(let failure): act(.failure(failure))
            case .success(let records):
                var state = state
                do throws(RecoveryFault) {
                    guard let reached = try state.apply(records, after: position, to: version)
                    else { return act(.done(.success(nil))) }
                    guard grow(&state, rebuild) else {
                        return act(.done(.failure(.overBudget)))
                    }
                    advance(state, after: reached, to: version, rebuild, then: act)
                } catch {
                    feed.report(.unreadable("\(error.place): \(error.reason)"))
                    act(.done(.success(nil)))
                }
            }
        }
    }

    /// Counts what the mutations have added to a state.
    ///
    /// - Returns: false if there is no room for it.
    private func grow(_ state: inout ArchivedState, _ rebuild: Rebuild) -> Bool {
        state.bytes = min(state.bytes, feed.loop.limits.stateBytes)
        do throws(WorkOverload) {
            rebuild.charge = try feed.loop.adjust(
                rebuild.charge, to: RebuildQueue.factor * state.bytes, for: rebuild.request.client)
            state.charge = rebuild.charge
            return true
        } catch {
            return false
        }
    }

    /// The `stateVersion` of the program that wrote the mutation after this version; nil if the
    /// journal does not say.
    package func stateVersion(
        after version: UInt64, then act: @escaping (Result<Int?, JournalFailure>) -> Void
    ) {
        let key = feed.key
        feed.askHistory { archive, answer in
            archive.stateVersion(of: key, at: version, answer)
        } then: { found in
            act(found)
        }
    }

    /// The oldest version that can be shown, from the journal, which is trimmed independently.
    package func oldestVersion(then act: @escaping (Result<UInt64, JournalFailure>) -> Void) {
        head { head in
            let kept = feed.history.keptVersion
            act(head.map { min($0?.keptVersion ?? kept, kept) })
        }
    }

    /// The session's head in the journal; nil if the session has ended.
    private func head(then act: @escaping (Result<SavedHead?, JournalFailure>) -> Void) {
        let key = feed.key
        feed.askArchive { archive, answer in
            archive.head(of: key.session, answer)
        } then: { head in
            act(head.map { $0?.key == key && $0?.isDeleted == false ? $0 : nil })
        }
    }
}

/// A state that was rebuilt from the journal.
package struct ArchivedState {
    package let fold: any StateFold
    /// The sizes of the snapshot and of the mutations, as an estimate of the state's.
    fileprivate(set) var bytes: Int
    /// The record that made the state, or the snapshot's record if the snapshot has this version.
    package fileprivate(set) var number: UInt64
    /// Of the state's bytes; nil if they are few.
    package var charge: WorkCharge?

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
            bytes += entry.content.count
            number = entry.number
        }
        return reached == position ? nil : reached
    }

    /// The state as `reduce` made it.
    package func encodeRaw() -> Result<[UInt8], JSONEncodingFailure> {
        var state: [UInt8] = []
        do {
            try fold.encodeRaw(to: &state)
            return .success(state)
        } catch {
            return .failure(error)
        }
    }
}
