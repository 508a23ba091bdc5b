import JSONCoding
import Reactors
import Storage

/// Another process that continues the sessions of a scripted journal, as another node of a cluster
/// does: the process under test does not know of it.
struct ForeignWriter {
    let journal: ScriptedJournal

    /// The newest entry of the session's newest generation; nil if that is not alive.
    private func newest(of session: String) -> HistoryEntry? {
        let last = journal.all.last { $0.session == session }
        return last?.kind == .deleted ? nil : last
    }

    /// Adds a mutation of the session.
    ///
    /// - Returns: whether the session is alive.
    @discardableResult
    func mutate(
        _ session: String, by mutation: some Encodable, _ events: [HistoryEntry.Event],
        time: Int64
    ) throws -> Bool {
        guard let newest = newest(of: session) else { return false }
        var content: [UInt8] = []
        try JSON.encode(mutation, into: &content)
        let head = HistoryEntry.Head(
            .mutation, at: HistoryPosition(newest.position.nextNumber), version: newest.version + 1,
            action: nextAction(in: newest.key), time: time)
        write(newest, head, content, events)
        return true
    }

    /// Adds a note to the session.
    func annotate(_ session: String, time: Int64) {
        guard let newest = newest(of: session) else { return }
        let position = HistoryPosition(newest.position.nextNumber, part: newest.position.part + 1)
        let head = HistoryEntry.Head(
            .note, at: position, version: newest.version, action: nextAction(in: newest.key),
            time: time)
        let content = #"{"kind":"action.received","content":{"received":{}}}"#
        write(newest, head, Array(content.utf8), [])
    }

    /// Ends the session.
    func delete(_ session: String, time: Int64) {
        guard let newest = newest(of: session) else { return }
        let head = HistoryEntry.Head(
            .deleted, at: HistoryPosition(newest.position.nextNumber), version: newest.version,
            time: time)
        write(newest, head, [], [])
    }

    private func write(
        _ newest: HistoryEntry, _ head: HistoryEntry.Head, _ content: [UInt8],
        _ events: [HistoryEntry.Event]
    ) {
        let entry = HistoryEntry(
            session: newest.session, reactor: newest.reactor, generation: newest.generation,
            head: head, content: content, events: events)
        journal.write(foreign: [entry])
    }

    private func nextAction(in key: SessionKey) -> UInt64 {
        let actions = journal.all.filter { $0.key == key }.map(\.action)
        return max(actions.max() ?? 0, journal.lastAction(of: key)) + 1
    }
}

extension ScriptedJournal {
    /// The newest action that a snapshot or a running action of the session has.
    fileprivate func lastAction(of key: SessionKey) -> UInt64 {
        let kept = keptBatch
        let snapshots = kept.snapshots.filter {
            $0.session == key.session && $0.generation == key.generation
        }
        let started = kept.started.filter {
            $0.session == key.session && $0.generation == key.generation
        }
        return (snapshots.map(\.lastAction) + started.map(\.action)).max() ?? 0
    }
}
