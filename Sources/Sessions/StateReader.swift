package import Feeds
internal import JSONCoding
package import Storage

/// Reads a session's states: the present one, and those of earlier versions.
///
/// Design: ``state(at:_:then:)`` alone decides where a state is read from. Memory has the versions
/// from `history.keptVersion` on; the journal, if it stores records, has earlier ones. The journal
/// trims independently, so a version may be gone when it is read, or be in memory by then.
struct StateReader {
    let session: any ReadableSession

    private var history: History { session.feed.history }

    /// The place that a state is read from.
    private enum Source {
        case memory
        case archive
        case nowhere
    }

    private func source(of version: UInt64, _ form: StateForm) -> Source {
        guard version <= newestVersion(form) else { return .nowhere }
        let isArchived = session.feed.archive != nil
        guard version >= history.keptVersion else { return isArchived ? .archive : .nowhere }
        // The oldest state in memory may have been reached before the session woke.
        guard form == .shown, isArchived, history.number(of: version) == nil else { return .memory }
        return .archive
    }

    /// A shown state is part of an answer that waits for its commit. Copies are made only of
    /// committed states.
    private func newestVersion(_ form: StateForm) -> UInt64 {
        form == .raw ? history.committed.version : history.newest.version
    }

    /// The versions that memory can show.
    private func keptVersions(_ form: StateForm) -> ClosedRange<UInt64> {
        history.keptVersion...newestVersion(form)
    }

    /// The result of looking for the state at a version.
    private enum Found {
        /// ``encode(_:at:)`` can encode it, until the session's next decision.
        case inMemory
        case rebuilt(ArchivedState)
        /// The version is not kept, or was never reached; those of the range are kept.
        case unknown(kept: ClosedRange<UInt64>)
        case unreadable(JournalFailure)
        /// There is no room for the state (``WorkBudget``).
        case overBudget
    }

    /// Finds the state at `version`, at once or after a read of the journal. The session may have
    /// left memory, or have ended, meanwhile.
    ///
    /// - Parameter tries: the most reads. The records that the state needs may be trimmed during a
    ///   read although the version is still kept, with a later snapshot; then it is read again.
    private func state(
        at version: UInt64, _ form: StateForm, for request: RebuildQueue.Request, tries: Int = 3,
        then act: @escaping (Found) -> Void
    ) {
        switch source(of: version, form) {
        case .memory: return act(.inMemory)
        case .nowhere: return findKept(form, act)
        case .archive: break
        }
        let archive = ArchivedStates(feed: session.feed)
        archive.rebuild(version, isPlaced: form == .shown, for: request) { rebuilt in
            switch rebuilt {
            case .failure(.unreadable(let failure)): return act(.unreadable(failure))
            case .failure(.overBudget): return act(.overBudget)
            case .success(let state?): return act(.rebuilt(state))
            case .success(nil): break
            }
            // The session may have been trimmed or woken meanwhile so that memory has the version.
            guard !keptVersions(form).contains(version) else { return act(.inMemory) }
            archive.oldestVersion { oldest in
                switch oldest {
                case .failure(let failure): act(.unreadable(failure))
                case .success(let oldest):
                    let newest = newestVersion(form)
                    let kept = min(oldest, newest)...newest
                    guard kept.contains(version), tries > 1 else {
                        return act(.unknown(kept: kept))
                    }
                    state(at: version, form, for: request, tries: tries - 1, then: act)
                }
            }
        }
    }

    /// Finds the versions that are kept, for a version that does not exist. The journal may have
    /// earlier ones than memory.
    private func findKept(_ form: StateForm, _ act: @escaping (Found) -> Void) {
        guard session.feed.archive != nil else { return act(.unknown(kept: keptVersions(form))) }
        ArchivedStates(feed: session.feed).oldestVersion { oldest in
            switch oldest {
            case .failure(let failure): act(.unreadable(failure))
            case .success(let oldest):
                let newest = newestVersion(form)
                act(.unknown(kept: min(oldest, keptVersions(form).lowerBound, newest)...newest))
            }
        }
    }

    // MARK: Requests

    /// Replies to a request for the present state, or for the state at `version`.
    func read(version: UInt64?, for token: UInt64) {
        guard let version, session.feed.archive != nil, source(of: version, .shown) != .memory
        else {
            return answer(version, token)
        }
        session.feed.archive?.readers.insert(token)
        let isWanted = { [session] in session.feed.archive?.readers.contains(token) ?? false }
        let request = RebuildQueue.Request(
            client: session.table.output.client(of: token), isWanted: isWanted)
        state(at: version, .shown, for: request) { found in
            guard isWanted() else { return }
            guard session.isReadable else {
                // The session's end may not be committed yet. The answer waits for that commit.
                session.feed.archive?.readers.remove(token)
                return session.answer(.content(session.content(session.absence), token: token))
            }
            switch found {
            case .inMemory:
                session.feed.archive?.readers.remove(token)
                answer(version, token)
            case .rebuilt(let state): session.answerReader(token, content(of: state, for: token))
            case .overBudget: session.answerReader(token, session.content(.overBudget))
            case .unknown(let kept):
                session.answerReader(token, session.content(.versionUnknown(kept: kept)))
            case .unreadable(let failure):
                session.answerReader(token, session.content(.unreadable(failure)))
            }
        }
    }

    /// Answers from memory. The answer waits for the commit of the steps that are decided so far.
    private func answer(_ version: UInt64?, _ token: UInt64) {
        let content = content(version, for: token)
        session.answer(.state(content, version: version, token: token))
    }

    private func content(of state: ArchivedState, for token: UInt64) -> Reply.Content {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(session.stateEstimate)
        if let failure = session.feed.append(state.fold, to: &bytes) {
            return session.content(.unencodable(failure))
        }
        session.table.pass.count(bytes.count)
        var content = session.committedContent(.state(bytes, version: state.fold.version))
        content.position = Position(session.generation, state.number)
        do throws(WorkOverload) {
            // The decoded state is released with this call.
            content.charge = try session.table.feeds.adjust(
                state.charge, to: bytes.count, for: session.table.output.client(of: token))
        } catch {
            return session.content(.overBudget)
        }
        return content
    }

    /// The answer from memory. The answer for a version has the position at which the version was
    /// reached: a client that continues from there misses nothing.
    func content(_ version: UInt64?, for token: UInt64) -> Reply.Content {
        guard session.isAwake else { return session.content(session.absence) }
        session.table.beginWork(.reading, of: session.feed, session.incarnation)
        defer { session.table.endWork(of: session.feed) }
        do throws(WorkOverload) {
            guard let version else {
                var content = try present(for: token)
                content.tags = session.registration.hasTags ? session.presentTags : nil
                return content
            }
            guard keptVersions(.shown).contains(version) else {
                return session.content(.versionUnknown(kept: keptVersions(.shown)))
            }
            var content = try charged(for: token) { kind(encode(.shown, at: version), version) }
            guard case .state = content.kind else { return content }
            // Without an archive earlier records do not exist, so a client cannot miss them.
            content.position = Position(
                session.generation, history.number(of: version) ?? history.keptAfter)
            return content
        } catch {
            return session.content(.overBudget)
        }
    }

    /// Encodes a state if there is room for it.
    private func charged(
        for token: UInt64, _ encode: () -> Reply.Kind
    ) throws(WorkOverload) -> Reply.Content {
        let table = session.table
        // Charges the estimated size first: without room the loop spends no time on the state.
        let copy = session.copyCharge
        let charge = try table.feeds.charge(session.stateEstimate, for: token, besides: copy)
        var content = session.content(encode())
        guard case .state(let state, _) = content.kind else { return content }
        content.charge = try table.feeds.adjust(
            charge, to: state.count, for: table.output.client(of: token), besides: copy)
        return content
    }

    /// The present state. A large one is encoded once for all requests while it is current.
    private func present(for token: UInt64) throws(WorkOverload) -> Reply.Content {
        let (table, version) = (session.table, history.newest.version)
        if let state = table.shown?.present(of: session, toRead: true) {
            var content = session.content(.state(Array(state.bytes), version: version))
            if let shared = table.shown?.bytes {
                content.charge = try shared.charge(for: table.output.client(of: token))
            } else {
                content.charge = try table.feeds.charge(
                    state.bytes.count, for: token, besides: session.copyCharge)
                table.shown?.share(content.charge?.bytes)
            }
            return content
        }
        let content = try charged(for: token) { kind(encodePresent(), version) }
        if table.shown?.present(of: session, toRead: true) != nil {
            table.shown?.share(content.charge?.bytes)
        }
        return content
    }

    private func encodePresent() -> Result<[UInt8], JSONEncodingFailure> {
        let number = history.newest.number
        makeRoom()
        let encoded = encode(.shown)
        if case .success(let state) = encoded { keep(state[...], at: number, isRead: true) }
        return encoded
    }

    /// Drops the large state that was encoded last, before another one is.
    private func makeRoom() {
        if session.stateEstimate >= ShownState.smallestBytes { session.table.shown = nil }
    }

    /// Keeps a large state for those that want it next.
    ///
    /// - Parameter number: the newest record when it was encoded. The state is not kept if a
    ///   transform has failed since: each read must record the failure.
    @discardableResult
    private func keep(
        _ state: ArraySlice<UInt8>, at number: UInt64, isRead: Bool
    ) -> ShownVersion {
        let shown = ShownVersion(state, session.table.pass) { [unowned feed = session.feed] in
            feed.source?.pointers() ?? []
        }
        if state.count >= ShownState.smallestBytes, number == history.newest.number {
            session.table.shown = ShownState(shown, of: session, at: number, isRead: isRead)
        }
        return shown
    }

    private func kind(
        _ encoded: Result<[UInt8], JSONEncodingFailure>, _ version: UInt64
    ) -> Reply.Kind {
        switch encoded {
        case .success(let state): return .state(state, version: version)
        case .failure(let failure):
            session.report(.unencodable("the state", failure.description))
            return .unencodable(failure)
        }
    }

    // MARK: Memory

    /// Encodes a state in memory: the present one, or the one at a kept version.
    ///
    /// - Precondition: the session is awake.
    private func encode(
        _ form: StateForm, at version: UInt64? = nil
    ) -> Result<[UInt8], JSONEncodingFailure> {
        var state: [UInt8] = []
        state.reserveCapacity(session.stateEstimate)
        defer {
            session.table.pass.count(state.count)
            session.endReplay()
        }
        do {
            try session.encodeState(form, at: version, to: &state)
            return .success(state)
        } catch {
            return .failure(error)
        }
    }

    /// The state as a stream shows it at a kept version. If it has no JSON: `null`, and the reason
    /// is reported. Calls have ascending versions until ``Session/endReplay()``.
    func shown(at version: UInt64) -> ShownVersion {
        let (table, number) = (session.table, history.newest.number)
        let isNewest = version == history.newest.version
        if isNewest, let state = table.shown?.present(of: session) { return state }
        if isNewest { makeRoom() }
        var state: [UInt8] = []
        state.reserveCapacity(session.stateEstimate)
        do {
            try session.encodeState(.shown, at: version, to: &state)
            table.pass.count(state.count)
            return keep(state[...], at: isNewest ? number : .max, isRead: false)
        } catch {
            session.report(.unencodable("the state", error.description))
            return ShownVersion(EventFramer.null, table.pass)
        }
    }

    // MARK: Copies

    /// Reads the state at a committed version, as `reduce` made it; nil: the present one.
    func export(
        _ version: UInt64?, for client: WorkClient?, while isWanted: @escaping () -> Bool,
        then act: @escaping (Result<SessionExport, ExportFault>) -> Void
    ) {
        guard isWanted() else { return }
        guard session.isAwake else { return act(.failure(exportFault)) }
        let wanted = version ?? history.committed.version
        let request = RebuildQueue.Request(client: client, isWanted: isWanted)
        state(at: wanted, .raw, for: request) { found in
            guard !session.hasEnded else { return act(.failure(exportFault)) }
            switch found {
            case .unknown(let kept): act(.failure(.versionUnknown(kept)))
            case .unreadable(let failure): act(.failure(.unreadable(failure)))
            case .overBudget: act(.failure(.overBudget))
            case .inMemory:
                guard session.isAwake else { return act(.failure(exportFault)) }
                act(exported(wanted, for: client) { encode(.raw, at: wanted) })
            case .rebuilt(let state):
                act(exported(wanted, for: client, state.charge) { state.encodeRaw() })
            }
        }
    }

    /// Why a session that is not running has no state to export.
    private var exportFault: ExportFault {
        session.hasEnded ? .gone(session.id) : .unreadable(.leftMemory)
    }

    /// - Parameter charge: of the state, if it was rebuilt.
    private func exported(
        _ version: UInt64, for client: WorkClient?, _ charge: WorkCharge? = nil,
        _ encode: () -> Result<[UInt8], JSONEncodingFailure>
    ) -> Result<SessionExport, ExportFault> {
        let table = session.table
        do throws(WorkOverload) {
            let estimate = SessionExport.factor * session.stateEstimate
            let early = charge == nil ? try table.feeds.charge(estimate, for: client) : charge
            let state: [UInt8]
            switch encode() {
            case .failure(let failure): return .failure(.unencodable(failure.description))
            case .success(let encoded): state = encoded
            }
            let charge = try table.feeds.adjust(
                early, to: SessionExport.factor * state.count, for: client)
            let snapshot = Snapshot(
                session: session.id.text, generation: session.generation.text,
                number: history.committed.number, version: version, lastAction: 0,
                stateVersion: session.registration.stateVersion, state: state,
                time: table.time)
            return .success(
                SessionExport(
                    snapshot: snapshot, input: session.feed.creation.input, charge: charge))
        } catch {
            return .failure(.overBudget)
        }
    }
}

/// A copy of a session's state, for a session that begins with it.
package struct SessionExport: Sendable {
    package let snapshot: Snapshot
    /// The input with which the session was created.
    package let input: [UInt8]?
    /// Until the new session is committed; nil if the state is small.
    package let charge: WorkCharge?

    /// The state of the new session, and its first snapshot.
    static let factor = 2
}

/// The forms in which a state is encoded.
package enum StateForm {
    /// As clients see it: decorated, and the injected state if a stub shows one.
    case shown
    /// As `reduce` made it: for snapshots and copies.
    case raw
}
