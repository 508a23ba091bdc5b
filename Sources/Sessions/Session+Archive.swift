internal import JSONCoding
internal import Reactors
package import Storage

// What a session reads back from the journal: states as they were, and answers that were given.
extension Session {
    /// Somebody waits for the archive: the session stays in memory until then.
    func pin() { keeping?.pins += 1 }

    func unpin() { keeping?.pins -= 1 }

    /// Rebuilds the state as it was at `version`, from the snapshot before it; nil if what that
    /// needs is no longer kept.
    func rebuild(
        _ version: UInt64,
        then act: @escaping (Result<(any StateFold)?, JournalFailure>) -> Void
    ) {
        let key = key
        pin()
        table.ask { archive, answer in
            archive.snapshot(of: key, at: version, answer)
        } then: { [self] result in
            defer { unpin() }
            switch result {
            case .failure(let failure): act(.failure(failure))
            case .success(let snapshot):
                guard let machine else { return act(.failure(.leftMemory)) }
                guard let snapshot else { return act(.success(nil)) }
                do throws(RecoveryFault) {
                    let fold = try machine.makeFold(from: snapshot)
                    advance(fold, after: RecordPlace(snapshot.number), to: version, then: act)
                } catch {
                    note(.unreadable("\(error.place): \(error.reason)"))
                    act(.success(nil))
                }
            }
        }
    }

    private func advance(
        _ fold: any StateFold, after place: RecordPlace, to version: UInt64,
        then act: @escaping (Result<(any StateFold)?, JournalFailure>) -> Void
    ) {
        guard fold.version < version else { return act(.success(fold)) }
        let key = key
        let last = committedNumber
        pin()
        table.ask { archive, answer in
            archive.records(
                of: key, after: place, through: last, limitBytes: 262_144, answer)
        } then: { [self] result in
            defer { unpin() }
            switch result {
            case .failure(let failure): act(.failure(failure))
            case .success(let records):
                do throws(RecoveryFault) {
                    guard let reached = try Self.apply(records, after: place, to: version, fold)
                    else { return act(.success(nil)) }
                    advance(fold, after: reached, to: version, then: act)
                } catch {
                    note(.unreadable("\(error.place): \(error.reason)"))
                    act(.success(nil))
                }
            }
        }
    }

    /// Answers the place of the last record or note that was looked at; nil if one is missing.
    private static func apply(
        _ records: [Record], after place: RecordPlace, to version: UInt64, _ fold: any StateFold
    ) throws(RecoveryFault) -> RecordPlace? {
        var reached = place
        for record in records {
            guard record.number == reached.nextNumber else { return nil }
            reached = record.place
            if record.kind == .mutation, fold.version < version { try fold.applyNext(record) }
        }
        return reached == place ? nil : reached
    }

    /// Reads a state that is no longer in memory.
    func readArchived(_ version: UInt64, for token: UInt64) {
        keeping?.readers.insert(token)
        rebuild(version) { [self] result in
            guard keeping?.readers.remove(token) != nil else { return }
            guard life == .running else { return answer(content(absence), token) }
            switch result {
            case .failure(let failure): answer(content(.unreadable(failure)), token)
            case .success(nil):
                let kept = (keeping?.keptVersion ?? 0)...log.lastVersion
                answer(content(.versionUnknown(kept: kept)), token)
            case .success(let fold?):
                var state: [UInt8] = []
                if let failure = append(fold, to: &state) {
                    return answer(content(.unencodable(failure)), token)
                }
                answer(content(.state(state, version: version)), token)
            }
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
            out.append(contentsOf: Framing.null)
            note(.unencodable("the state", error.description))
            return error
        }
    }

    /// The state at a committed version, as `reduce` made it; nil: the present one.
    package func export(
        _ version: UInt64?, then act: @escaping (Result<Snapshot, ExportFault>) -> Void
    ) {
        guard let machine else { return act(.failure(exportFault)) }
        let wanted = version ?? committedVersion
        guard wanted <= committedVersion else {
            return act(.failure(.versionUnknown(log.keptVersion...committedVersion)))
        }
        if wanted >= log.keptVersion {
            return act(
                exported(wanted) { out throws(JSONEncodingFailure) in
                    try machine.encodeRawState(at: wanted, to: &out)
                })
        }
        guard keeping != nil else {
            return act(.failure(.versionUnknown(log.keptVersion...committedVersion)))
        }
        rebuild(wanted) { [self] result in
            guard life != .ended else { return act(.failure(exportFault)) }
            switch result {
            case .failure(let failure): act(.failure(.unreadable(failure)))
            case .success(nil):
                let kept = (keeping?.keptVersion ?? 0)...committedVersion
                act(.failure(.versionUnknown(kept)))
            case .success(let fold?):
                act(
                    exported(wanted) { out throws(JSONEncodingFailure) in
                        try fold.encodeRaw(to: &out)
                    })
            }
        }
    }

    /// Why a session that is not running has no state to hand over.
    private var exportFault: ExportFault {
        life == .ended ? .gone(id) : .unreadable(.leftMemory)
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
                session: id.text, generation: generation.text, number: committedNumber,
                version: version, lastAction: 0, stateVersion: registration.stateVersion,
                state: state, time: table.time))
    }

    /// The source of an event by its name, as the journal keeps it.
    func source(of name: String) -> EventSource {
        if let index = registration.pulses.firstIndex(of: name) { return .pulse(index) }
        // Journals of before pulses had their coding keys for names.
        if let index = registration.properties.firstIndex(of: name) { return .pulse(index) }
        return .activity(activityIndex(named: name) ?? .max)
    }
}
