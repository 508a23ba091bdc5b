internal import Feeds
public import Reactors
internal import Storage

// Saving a reactor's session for the next process, and recovering it.
extension ReactorMachine {
    var stateVersion: Int { R.stateVersion }

    var tags: Tags { R.tags(of: core.state) }

    var lastAction: UInt64 { lastTag }

    var isQuiet: Bool { core.runningCount == 0 && !core.isStub }

    var hasRunningEffects: Bool { core.hasRunningEffects }

    /// Saves an action that is answered before its effects have ended, for a restart to recover.
    func noteRunning(_ action: R.Action, _ tag: ActionTag) {
        var content: [UInt8] = []
        session.appendReceived(action, to: &content)
        session.noteRunning(tag.number, content, attempt: core.attempts(of: tag))
    }

    func recovery(of action: R.Action, after attempts: Int) -> Recovery {
        reactor.recovery(of: action, after: Interruption(attempts: attempts, error: nil))
    }

    /// The action keeps its number, so its steps keep their keys.
    func receiveAgain(_ action: R.Action, _ saved: RunningAction, after time: Duration) {
        let tag = ActionTag(saved.action)
        guard time <= .zero else {
            core.resume(
                Pause(
                    action: action, tag: tag, subject: saved.subject,
                    attempt: saved.isPaused ? saved.attempt : saved.attempt + 1,
                    interruptions: saved.begun, time: time,
                    step: saved.step.map { EffectID($0) }),
                observer: self)
            return
        }
        core.beginRepetition(action, tag, saved.subject, attempt: saved.attempt + 1)
        receive(action, asRepeated: tag)
        core.endRepetition(tag, observer: self)
    }

    /// Receives an action again after its pause.
    func receiveAgain(_ again: Repetition<R>) {
        session.arrival.subject = again.subject
        session.arrival.begunBefore = again.interruptions
        receive(again.action, asRepeated: again.tag)
        session.arrival = Arrival()
        core.endRepetition(again.tag, observer: self)
    }

    private func receive(_ action: R.Action, asRepeated tag: ActionTag) {
        guard let refusal = receiveAlone(action, as: tag) else { return }
        log.failed(at: .effect, String(describing: refusal), of: tag)
    }

    @usableFromInline
    func paused(_ pause: Pause<R>) {
        guard session.keepsRecords else { return }
        var content: [UInt8] = []
        session.append(pause.action, "an action", to: &content)
        session.notePaused(
            RunningAction(
                session: session.id.text, generation: session.generation.text,
                action: pause.tag.number, content: content, subject: pause.subject,
                begun: pause.interruptions, attempt: pause.attempt,
                wait: TimerTime.milliseconds(pause.time), step: pause.step?.name))
    }
}
