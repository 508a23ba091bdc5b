internal import Feeds
internal import Reactors
internal import Storage

// Saving a reactor's session for the next process, and recovering it.
extension ReactorMachine {
    var stateVersion: Int { R.stateVersion }

    var lastAction: UInt64 { lastTag }

    var isQuiet: Bool { core.runningCount == 0 && !core.isStub }

    /// Saves an action that is answered before its effects have ended, for a restart to recover.
    func noteRunning(_ action: R.Action, _ tag: ActionTag) {
        var content: [UInt8] = []
        session.appendReceived(action, to: &content)
        session.noteRunning(tag.number, content)
    }

    func recovery(of action: R.Action) -> Recovery { reactor.recovery(of: action) }
}
