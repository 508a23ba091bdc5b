import Feeds
import Sessions
import Storage
import TestRandomness
import Testing

// Streams of the program that hosts the sessions.
extension WholeLife {
    /// One more event. It draws from its own generator, so that the rest of a life does not depend
    /// on it.
    func programStep() {
        let program = programs.randomElement(using: &programGenerator)
        switch Int.random(in: 0..<12, using: &programGenerator) {
        case 0 where programs.count < 3:
            guard let id = ids.randomElement(using: &programGenerator),
                let session = SessionID(id)
            else { return }
            let selections: [Selection] = [
                .allPulses, .allStates, Selection(activities: true), .everything,
            ]
            programs.append(
                ProgramStream(
                    session, selections.randomElement(using: &programGenerator) ?? .allStates,
                    limit: [1, 2, 100].randomElement(using: &programGenerator) ?? 1))
            programs.last?.connect(rig)
        case 1...4: program?.receive(Int.random(in: 1...5, using: &programGenerator), rig)
        case 5, 6: program?.read(1)
        case 7: program?.read(.max)
        case 8: program?.receive(1, rig, retries: true)
        default: break
        }
    }

    /// - Parameter retries: Whether sessions that could not be read are tried again.
    func settlePrograms(retries: Bool) {
        for program in programs {
            program.read(.max)
            program.receive(1, rig, retries: retries)
            program.read(.max)
            // With a limit of one, each block has to be read before the next.
            for _ in 0..<1_000 {
                program.receive(1, rig)
                program.read(.max)
            }
        }
    }

    // MARK: The oracle

    func checkPrograms() {
        // Without an id: the session did not exist when it was asked for.
        for program in programs where !program.isOver || program.lastID != nil {
            let id = program.session.text
            guard !stubbed.contains(id), reactors[id] == "ledger" else { continue }
            let records = rig.journal.all.filter { $0.session == id }
            guard let key = records.last?.key, let truth = truth(of: key) else { continue }
            guard Set(everything.filter { $0.session == id }.map(\.generation)).count == 1 else {
                // The reading drops a reset. Without a snapshot after it, nothing shows it.
                if program.reader.selection.hasSnapshot {
                    checkGenerations(program.reader, of: id)
                }
                continue
            }
            let isDeleted = records.contains { $0.kind == .deleted }
            if program.isOver != isDeleted {
                blame("\(id)'s reader in the program: over \(program.isOver), deleted \(isDeleted)")
            }
            if program.resets > 0 { blame("\(id)'s reader in the program began again") }
            program.reader.check(
                rig, against: truth, "seed \(seed), \(id) in the program", isOver: program.isOver)
        }
    }
}
