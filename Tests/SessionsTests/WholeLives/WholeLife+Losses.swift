import Storage
import Testing

@testable import Feeds
@testable import Sessions

// The journal loses history that was acknowledged.
extension WholeLife {
    /// Every record of the present and the earlier eras.
    var everything: [HistoryEntry] { rig.journal.losses.earlier + rig.journal.all }

    func loseHistory() {
        guard scope.hasArchive else { return }
        lookAtAnswers()
        owners.beginRecount()
        recounts += 1
        refusable.formUnion(ids + ["$news"])
        let losesNothing = scope.hasTasks && chance(1, in: 2)
        rig.journal.loseHistory(losesNothing ? 0 : Int.random(in: 0...4, using: &generator))
        let losses = rig.journal.losses
        for (key, origin) in origins {
            let next = SessionKey(
                session: key.session, generation: losses.name(after: key.generation))
            origins[next] = origin
        }
        // Verdicts and answers may arrive before the message, or it comes at once.
        if chance(2, in: 3) { learnOfLosses() }
    }

    /// The message arrives, after verdicts of the era before.
    private func learnOfLosses() {
        rig.drainInbox()
        lookAtAnswers()
        void = rig.journal.losses.void
    }

    /// Counts the owners' sessions again, once the table has forgotten its own; the count is set
    /// when the commits have ended that it may have seen.
    func countOwnersAgain() {
        guard recounts > 0, chance(1, in: 4) else { return }
        guard let count = countedOwners else {
            learnOfLosses()
            return countedOwners = (Self.owned(in: rig.journal), recounts, false)
        }
        guard !count.isBeingSet else { return }
        countedOwners?.isBeingSet = true
        rig.table.afterSubmitted { [unowned self, owners] in
            for _ in 0..<count.losses { owners.endRecount(count.owned) }
            countedOwners = nil
            recounts -= count.losses
            mayOwnMore = true
        }
    }

    /// Whether the end of a session was committed, and then lost.
    func losesEnd(of id: String) -> Bool {
        rig.journal.losses.earlier.contains { $0.session == id && $0.kind == .deleted }
    }

    /// A reader that is connected reads the present generation.
    func checkNobodyIsStranded() {
        for (id, reader) in readers {
            guard let connection = reader.connections.last,
                rig.output.isStreaming(connection.token),
                let position = Position(rig.transcript(connection.token).lastEventID)
            else { continue }
            let present = rig.journal.all.last { $0.session == id }?.generation
            if position.generation.text != present {
                blame(
                    "\(id): a reader waits at \(position.text), and \(present ?? "nothing") is there"
                )
            }
        }
    }

    /// No answer is of a history that is known to be lost.
    func checkEra(_ content: Reply.Content) {
        let key = SessionKey(
            session: content.feed.id.text, generation: content.position.generation.text)
        guard void.contains(key) else { return }
        switch content.kind {
        case .received, .state, .unsettled, .subscribed, .logPage, .ended, .created, .replayed:
            blame("\(content.line), and \(key) is lost")
        default: break
        }
    }

    /// A reader meets another generation only after a `reset` with the reason `generation`, and
    /// gets every event of each generation once.
    func checkGenerations(_ reader: Reader, of id: String) {
        guard !stubbed.contains(id), reactors[id] == "ledger" else { return }
        var truths: [String: Truth] = [:]
        for connection in reader.connections {
            var walk = GenerationWalk(after: connection.after, reader.selection)
            for heard in rig.transcript(connection.token).events
            where heard.name != "end" && heard.name != "presence" {
                if walk.skips(heard) { continue }
                guard let generation = Position(heard.id)?.generation.text else {
                    return blame("\(id): \(heard) without a position")
                }
                let key = SessionKey(session: id, generation: generation)
                guard let truth = truths[generation] ?? truth(of: key) else {
                    return blame("\(id): \(heard) of no records")
                }
                truths[generation] = truth
                if let fault = walk.follow(heard, truth) { return blame("\(id): \(fault)") }
                guard heard.name == "snapshot" else { continue }
                reader.checkSnapshot(heard, truth, "seed \(seed), \(id)")
            }
        }
    }

    func checkAllGenerations() {
        guard scope.losesHistory else { return }
        for (id, reader) in readers { checkGenerations(reader, of: id) }
    }
}
