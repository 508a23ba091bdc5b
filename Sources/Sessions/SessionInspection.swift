package import Feeds
package import Storage

/// Looks at a session without loading it. Does not count as a use: the session falls asleep no
/// later than without the look.
///
/// Design: if the journal keeps records, their range is read from the journal, because the journal
/// trims them by itself. This reads no record. As for every request, an awake session replies after
/// its decisions are committed. To read the timers of a sleeping session, a request waits in the
/// queue for pages of logs, because the timers' actions may be as large as a page.
extension SessionTable {
    /// The result of ``inspect(_:then:)``.
    package enum Inspection {
        /// The session is awake: ``Session/readRuntime(_:for:)``, with the head that the
        /// journal has of it.
        case awake(Session, SavedHead?)
        /// The session is in the journal only, or with its subscribers.
        case asleep(SavedHead, SessionRuntime)
        /// Any result but a session, and never `notInMemory`.
        case absent(SessionLookup)
    }

    /// Finds a session in memory or in the journal. Calls `act` on this loop: at once if the
    /// journal has no archive, else later.
    ///
    /// - Parameter request: The client, and whether it still waits. If it no longer does, `act` is
    ///   perhaps never called.
    package func inspect(
        _ id: SessionID, for request: RebuildQueue.Request,
        then act: @escaping (Inspection) -> Void
    ) {
        guard journal.archive != nil else { return act(inspection(of: id, nil)) }
        ask { archive, answer in
            archive.head(of: id.text, answer)
        } then: { [self] result in
            switch result {
            case .success(let head):
                addTimers(to: inspection(of: id, head), of: id, for: request, then: act)
            case .failure(let failure): act(.absent(.unreadable(failure)))
            }
        }
    }

    /// The timers of a sleeping session are in the journal. It may wake while they are read.
    private func addTimers(
        to found: Inspection, of id: SessionID, for request: RebuildQueue.Request,
        then act: @escaping (Inspection) -> Void
    ) {
        guard case .asleep(let head, _) = found else { return act(found) }
        feeds.rebuilds.addPage(request, in: feeds) { [self] turn in
            switch turn {
            case .unwanted: break
            case .refused: act(.absent(.overBudget))
            case .begun: readTimers(of: head, id, then: act)
            }
        }
    }

    private func readTimers(
        of head: SavedHead, _ id: SessionID, then act: @escaping (Inspection) -> Void
    ) {
        ask { archive, answer in
            archive.timers(of: head.key, answer)
        } then: { [self] result in
            defer { feeds.rebuilds.end(.page, in: feeds) }
            switch result {
            case .success(let timers):
                let present = inspection(of: id, head)
                guard case .asleep(_, var runtime) = present else { return act(present) }
                runtime.timers = timers
                act(.asleep(head, runtime))
            case .failure(let failure): act(.absent(.unreadable(failure)))
            }
        }
    }

    /// - Parameter head: as the journal had it, perhaps before a load or a deletion of the session.
    private func inspection(of id: SessionID, _ head: SavedHead?) -> Inspection {
        let found = find(id)
        switch found {
        case .session(let session):
            let isItsOwn = head?.key == session.key && head?.isDeleted == false
            return .awake(session, isItsOwn ? head : nil)
        case .notInMemory: break
        case .copy, .ended, .nothing, .quarantined, .unreadable, .noRoom, .overBudget, .elsewhere,
            .noNode:
            return .absent(found)
        }
        guard let head else { return .absent(.nothing) }
        guard !head.isDeleted else { return .absent(.ended) }
        let subscribers = asleep(id)?.streams.subscriberCount ?? 0
        return .asleep(head, SessionRuntime(subscribers: subscribers, kept: .init(head)))
    }
}

extension Session {
    /// Replies with the session's runtime.
    ///
    /// - Parameters:
    ///   - head: as the journal has it; nil if the journal keeps no records, or has not committed
    ///     the session's creation yet.
    ///   - hasActions: whether the client may see the actions of timers.
    package func readRuntime(_ head: SavedHead?, hasActions: Bool = true, for token: UInt64) {
        guard case .awake(let machine) = life else { return answer(content(absence), token) }
        var runtime = SessionRuntime(
            subscribers: streams.subscriberCount,
            kept: head.map(SessionRuntime.Kept.init)
                ?? .init(generation.text, history.keptAfter, history.keptVersion, history.committed)
        )
        runtime.awake = true
        runtime.effects = machine.runningEffects(in: self)
        runtime.sources = tasks.listening
        runtime.stubbed = machine.isStubbed
        runtime.timers = timers.all
        let line = runtime.line(hasActions: hasActions)
        do throws(WorkOverload) {
            var content = content(.runtime(line))
            content.charge = try table.feeds.charge(line.count, for: token)
            answer(content, token)
        } catch {
            answer(content(.overBudget), token)
        }
    }
}

extension SessionRuntime.Kept {
    init(_ head: SavedHead) {
        self.init(head.key.generation, head.keptAfter, head.keptVersion, head.end)
    }

    /// - Parameters:
    ///   - keptAfter: the records after this one are kept.
    ///   - version: of the state at `keptAfter`.
    init(_ generation: String, _ keptAfter: UInt64, _ version: UInt64, _ end: HistoryEnd) {
        from = Start(version: version, position: "\(generation).\(keptAfter)")
        records = end.number > keptAfter ? end.number - keptAfter : 0
    }
}
