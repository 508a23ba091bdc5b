internal import JSONCoding
internal import Reactors
internal import Storage

// Saving a reactor's session for the next process, and recovering it.
extension ReactorMachine {
    var stateVersion: Int { R.stateVersion }

    var lastAction: UInt64 { lastTag }

    var isQuiet: Bool { core.runningCount == 0 && !core.isStub }

    func makeFold(from snapshot: Snapshot?) throws(RecoveryFault) -> any StateFold {
        try ReactorFold(reactor, from: snapshot)
    }

    /// The action is answered before its effects have ended: a restart has to know of it.
    func noteRunning(_ action: R.Action, _ tag: ActionTag) {
        var content: [UInt8] = []
        session.appendReceived(action, to: &content)
        session.noteRunning(tag.number, content)
    }

    func recover(_ action: RunningAction, in session: Session) {
        session.noteSettled(action.action)
        do {
            let saved = try JSON.decode(R.Action.self, stored: action.content)
            switch reactor.recovery(of: saved) {
            case .runAgain where action.begun >= RunningAction.beginLimit:
                abandon(action, Abandoned.tooOften)
            case .runAgain:
                session.runAgain(action) {
                    var receipt = Receipt()
                    receive(saved, at: 0, &receipt)
                }
            case .abandon:
                abandon(action, Abandoned.runningAtEnd)
            }
        } catch {
            abandon(action, Abandoned.unreadable(error))
        }
    }

    private func abandon(_ action: RunningAction, _ reason: String) {
        failed(
            ReactorFailure(
                place: .effect, error: Abandoned(description: reason),
                action: ActionTag(action.action)))
    }
}

/// Effects did not outlive their process.
struct Abandoned: Error, CustomStringConvertible {
    let description: String

    static let runningAtEnd = "abandoned: the server ended while it ran"

    static let tooOften =
        "abandoned: it was begun \(RunningAction.beginLimit) times, and each time the server ended "
        + "while it ran"

    static func unreadable(_ refusal: JSONRefusal) -> String {
        "abandoned: the action can't be read any more: \(refusal.sentence)"
    }
}
