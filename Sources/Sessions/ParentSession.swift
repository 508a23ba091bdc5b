internal import Cyclers
internal import Feeds
internal import JSONCoding
internal import Reactors

// A Cycler that is a part of another one. Each has a session of its own.
//
// Design: a part's session id names the parent: `<parent>--<part>`. So the relation needs no
// record, exists again after a restart, and refers to the session that has the parent's id at
// that time. A part is a session as any other: it reaches its parent on any loop, and at any
// node (ADR-0058).
extension SessionID {
    /// The id of the session that this one is a part of; nil if the id names none.
    var parent: SessionID? {
        guard let mark = text.range(ofLast: "--") else { return nil }
        return SessionID(String(text[..<mark]))
    }
}

extension String {
    /// Where the last occurrence of two characters begins.
    fileprivate func range(ofLast pair: String) -> String.Index? {
        var at = endIndex
        while at > startIndex {
            at = index(before: at)
            if self[at...].hasPrefix(pair) { return at }
        }
        return nil
    }
}

extension CyclerMachine {
    /// Reaches this Cycler in the session that `session` is a part of, on any loop and at any node;
    /// nil if the id of `session` names no parent.
    static func mailbox(from session: Session) -> ParentMailbox<C.Action>?
    where C: SendableMetatype {
        guard let id = session.id.parent else { return nil }
        let reach = session.table.services.reach
        return ParentMailbox { action, subject in
            // The other loop may answer before this action waits. Whether the action has waited
            // decides how a failure is reported, and must not depend on the other loop's speed.
            await Task.yield()
            let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
                let waiter = PartWaiter { continuation.resume(returning: $0) }
                _ = reach(id) { table in
                    partAction(action, to: id, by: subject, in: table, waiter).send()
                }
            }
            try result.get()
        }
    }

    /// An action for the session `parent`, which has a Cycler of this type.
    static func partAction(
        _ action: C.Action, to parent: SessionID, by subject: String?, in table: SessionTable,
        _ waiter: PartWaiter
    ) -> PartAction {
        PartAction(
            action, to: parent, by: subject, table.absent.names(of: ObjectIdentifier(C.self)),
            in: table, waiter)
    }
}

extension CyclerMachine: ParentMachine {
    func beginPart(_ content: PartContent) throws {
        var receipt = Receipt()
        if let refusal = begin(try action(content), &receipt) { throw refusal }
    }

    private func action(_ content: PartContent) throws -> C.Action {
        switch content {
        case .value(let value):
            guard let action = value as? C.Action else { throw CyclerParentMissing() }
            return action
        case .json(let bytes):
            do {
                return try JSON.decode(C.Action.self, stored: bytes)
            } catch {
                throw ActionRefusal.json(error)
            }
        }
    }
}
