internal import JSONCoding
internal import Reactors
package import Storage

// Reading back from the journal: states of earlier versions, and stored answers.
extension Session {
    /// A read of the archive begins: the session stays in memory until it ends.
    func beginArchiveRead() { persistence?.archiveReads += 1 }

    func endArchiveRead() { persistence?.archiveReads -= 1 }

    /// Rebuilds the state as it was at `version`, from the snapshot before it; nil if what that
    /// needs is no longer kept.
    ///
    /// - Parameter isPlaced: whether ``Rebuilt/number`` has to be the record at which the version
    ///   was reached: then the snapshot is of an earlier version, if there is one.
    func rebuild(
        _ version: UInt64, isPlaced: Bool = false,
        then act: @escaping (Result<Rebuilt?, JournalFailure>) -> Void
    ) {
        let key = key
        let isEarlier = isPlaced && version > 0
        beginArchiveRead()
        table.ask { archive, answer in
            archive.snapshot(of: key, at: isEarlier ? version - 1 : version, answer)
        } then: { [self] result in
            defer { endArchiveRead() }
            switch result {
            case .failure(let failure): act(.failure(failure))
            case .success(let snapshot):
                guard let machine else { return act(.failure(.leftMemory)) }
                guard let snapshot else {
                    return isEarlier ? rebuildOldest(version, then: act) : act(.success(nil))
                }
                do throws(RecoveryFault) {
                    let fold = try machine.makeFold(from: snapshot)
                    let rebuilt = Rebuilt(fold: fold, number: version == 0 ? 0 : snapshot.number)
                    advance(
                        rebuilt, after: HistoryPosition(snapshot.number), to: version, then: act)
                } catch {
                    note(.unreadable("\(error.place): \(error.reason)"))
                    act(.success(nil))
                }
            }
        }
    }

    /// The oldest version that is kept may be this one: then what was before its snapshot is gone.
    private func rebuildOldest(
        _ version: UInt64, then act: @escaping (Result<Rebuilt?, JournalFailure>) -> Void
    ) {
        rebuild(version) { [self] result in
            guard case .success(var rebuilt?) = result else { return act(result) }
            askHead { head in
                act(
                    head.map { head in
                        // A later snapshot of the same version may have taken its place.
                        if let head, head.keptVersion == version {
                            rebuilt.number = min(rebuilt.number, head.keptAfter)
                        }
                        return rebuilt
                    })
            }
        }
    }

    /// A state of before.
    struct Rebuilt {
        let fold: any StateFold
        /// The record that made it, or, where it began with a snapshot of its version, the
        /// snapshot's.
        var number: UInt64
    }

    private func advance(
        _ rebuilt: Rebuilt, after place: HistoryPosition, to version: UInt64,
        then act: @escaping (Result<Rebuilt?, JournalFailure>) -> Void
    ) {
        guard rebuilt.fold.version < version else { return act(.success(rebuilt)) }
        let key = key
        let last = history.committed.number
        beginArchiveRead()
        table.ask { archive, answer in
            archive.records(
                of: key, after: place, through: last, limitBytes: 262_144, answer)
        } then: { [self] result in
            defer { endArchiveRead() }
            switch result {
            case .failure(let failure): act(.failure(failure))
            case .success(let records):
                var rebuilt = rebuilt
                do throws(RecoveryFault) {
                    guard
                        let reached = try Self.apply(records, after: place, to: version, &rebuilt)
                    else { return act(.success(nil)) }
                    advance(rebuilt, after: reached, to: version, then: act)
                } catch {
                    note(.unreadable("\(error.place): \(error.reason)"))
                    act(.success(nil))
                }
            }
        }
    }

    /// - Returns: the position of the last entry that was applied; nil if one is missing.
    private static func apply(
        _ records: [HistoryEntry], after place: HistoryPosition, to version: UInt64,
        _ rebuilt: inout Rebuilt
    ) throws(RecoveryFault) -> HistoryPosition? {
        var reached = place
        for record in records {
            guard record.number == reached.nextNumber else { return nil }
            reached = record.position
            guard record.kind == .mutation, rebuilt.fold.version < version else { continue }
            try rebuilt.fold.applyNext(record)
            rebuilt.number = record.number
        }
        return reached == place ? nil : reached
    }

    /// Reads a state that is no longer in memory, or whose position is not.
    ///
    /// - Parameter tries: what it needs may be trimmed while it is read, and be kept all the same
    ///   in another form: so often it is read again at the most.
    func readArchived(_ version: UInt64, for token: UInt64, tries: Int = 3) {
        persistence?.readers.insert(token)
        rebuild(version, isPlaced: true) { [self] result in
            guard persistence?.readers.contains(token) == true else { return }
            guard isRunning else { return answerReader(token, content(absence)) }
            switch result {
            case .failure(let failure): answerReader(token, content(.unreadable(failure)))
            case .success(nil): readAgain(version, for: token, tries: tries)
            case .success(let rebuilt?):
                var state: [UInt8] = []
                if let failure = append(rebuilt.fold, to: &state) {
                    return answerReader(token, content(.unencodable(failure)))
                }
                var content = committedContent(.state(state, version: version))
                content.position = Position(generation, rebuilt.number)
                answerReader(token, content)
            }
        }
    }

    /// Replies to a request whose answer was read from the journal: it depends on no step that is not
    /// committed, and waits for none.
    func answerReader(_ token: UInt64, _ content: Reply.Content) {
        guard persistence?.readers.remove(token) != nil else { return }
        table.output.reply(content, to: token)
    }

    /// A version could not be rebuilt: it is no longer kept, or was trimmed up to just now.
    private func readAgain(_ version: UInt64, for token: UInt64, tries: Int) {
        guard version < history.keptVersion || version > history.newest.version else {
            // Memory has it, and all that is kept of before.
            guard persistence?.readers.remove(token) != nil else { return }
            return answer(.state(content(reading: version), version: version, token: token))
        }
        askKept { [self] kept in
            guard persistence?.readers.contains(token) == true else { return }
            guard isRunning else { return answerReader(token, content(absence)) }
            switch kept {
            case .failure(let failure): answerReader(token, content(.unreadable(failure)))
            case .success(let kept):
                guard kept.contains(version), tries > 1 else {
                    return answerReader(token, content(.versionUnknown(kept: kept)))
                }
                readArchived(version, for: token, tries: tries - 1)
            }
        }
    }

    /// Which versions can be shown: the journal trims on its own, and knows.
    private func askKept(
        then act: @escaping (Result<ClosedRange<UInt64>, JournalFailure>) -> Void
    ) {
        askHead { [self] head in
            act(
                head.map { head in
                    min(
                        head?.keptVersion ?? history.keptVersion, history.keptVersion)...history
                        .newest.version
                })
        }
    }

    /// The journal's head of this life; nil if it is over.
    private func askHead(then act: @escaping (Result<SavedHead?, JournalFailure>) -> Void) {
        let key = key
        beginArchiveRead()
        table.ask { archive, answer in
            archive.head(of: key.session, answer)
        } then: { [self] result in
            defer { endArchiveRead() }
            act(result.map { $0?.key == key && $0?.isDeleted == false ? $0 : nil })
        }
    }

    /// Appends the state as it is shown; `null`, and answers why, if it has no JSON. That it is
    /// shown undecorated is logged.
    @discardableResult
    func append(_ fold: any StateFold, to out: inout [UInt8]) -> JSONEncodingFailure? {
        do throws(JSONEncodingFailure) {
            if let error = try fold.encodeShown(to: &out) {
                note(
                    .failed(
                        place: "transformState",
                        error: "version \(fold.version) and others are shown bare: \(error)"))
            }
            return nil
        } catch {
            out.append(contentsOf: EventFramer.null)
            note(.unencodable("the state", error.description))
            return error
        }
    }

    /// The state at a committed version, as `reduce` made it; nil: the present one.
    package func export(
        _ version: UInt64?, then act: @escaping (Result<Snapshot, ExportFault>) -> Void
    ) {
        guard let machine else { return act(.failure(exportFault)) }
        let wanted = version ?? history.committed.version
        guard wanted <= history.committed.version else {
            return act(.failure(.versionUnknown(history.keptVersion...history.committed.version)))
        }
        if wanted >= history.keptVersion {
            return act(
                exported(wanted) { out throws(JSONEncodingFailure) in
                    try machine.encodeRawState(at: wanted, to: &out)
                })
        }
        guard persistence != nil else {
            return act(.failure(.versionUnknown(history.keptVersion...history.committed.version)))
        }
        rebuild(wanted) { [self] result in
            guard !hasEnded else { return act(.failure(exportFault)) }
            switch result {
            case .failure(let failure): act(.failure(.unreadable(failure)))
            case .success(nil):
                askKept { [self] kept in
                    guard !hasEnded else { return act(.failure(exportFault)) }
                    switch kept {
                    case .failure(let failure): act(.failure(.unreadable(failure)))
                    case .success(let kept): act(.failure(.versionUnknown(kept)))
                    }
                }
            case .success(let rebuilt?):
                act(
                    exported(wanted) { out throws(JSONEncodingFailure) in
                        try rebuilt.fold.encodeRaw(to: &out)
                    })
            }
        }
    }

    /// Why a session that is not running has no state to hand over.
    private var exportFault: ExportFault {
        hasEnded ? .gone(id) : .unreadable(.leftMemory)
    }

    private func exported(
        _ version: UInt64, _ encode: (inout [UInt8]) throws(JSONEncodingFailure) -> Void
    ) -> Result<Snapshot, ExportFault> {
        var state: [UInt8] = []
        do {
            try encode(&state)
        } catch {
            return .failure(.unencodable(error.description))
        }
        return .success(
            Snapshot(
                session: id.text, generation: generation.text, number: history.committed.number,
                version: version, lastAction: 0, stateVersion: registration.stateVersion,
                state: state, time: table.time))
    }

    /// The source of an event of a kept record by its name. Nil: today's reactor has no such pulse,
    /// or the session has as many names of activities as it may.
    func source(of name: String, in kind: HistoryEntry.Kind) -> EventSource? {
        guard kind == .mutation else { return activityIndex(named: name).map { .activity($0) } }
        if let index = registration.pulses.firstIndex(of: name) { return .pulse(index) }
        // Journals of before pulses had their coding keys for names.
        return registration.properties.firstIndex(of: name).map { .pulse($0) }
    }
}
