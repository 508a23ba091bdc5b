internal import Storage

/// Decisions that must now be carried out: *records* to commit first, *events* to publish and
/// *replies* to send only after the commit.
///
/// Design: this is the contract between deciding and doing. Everything a session decides in one
/// round of its loop gathers in one step. While a commit is under way the session decides on,
/// into the next step. Nothing is published that a crash could take back.
final class Step {
    let session: Session
    /// The session's next one; see ``StepQueue``.
    var next: Step?
    /// For the journal; empty if it keeps none.
    var batch = Batch()
    /// The end of the history that is committed when the step is.
    var end: HistoryEnd
    /// The step brings its session into being.
    var creates = false
    /// False once the journal has been given it.
    var isGathering = true
    /// It was rolled back, itself or with one before it: whatever the journal says of it now, it is
    /// neither shown nor rolled back again.
    var isRolledBack = false
    /// Bytes of the bodies that were posted to it.
    var postedBytes = 0
    /// Due after the commit, in this order.
    var replies: [Reply] = []
    /// Answers to requests with an `Idempotency-Key` that are decided with it, by their token.
    var answered: [(token: UInt64, answer: StoredAnswer)] = []
    /// The same for requests that keep waiting for effects.
    var preliminary: [(token: UInt64, answer: StoredAnswer)] = []
    /// Those of `replies` that end a wait for effects: the actions were decided earlier, and may be
    /// committed when this step fails.
    var waited: [SettledWaits.Wait] = []
    /// Orders of effects, carried out after the commit, in this order.
    var effects: [EffectOrder] = []

    init(_ session: Session, end: HistoryEnd) {
        self.session = session
        self.end = end
    }

    /// Whether the reply ends a wait for effects.
    func endsWait(_ reply: Reply) -> Bool {
        guard !waited.isEmpty, case .content(_, let token) = reply else { return false }
        return waited.contains { $0.token == token }
    }

    /// No client waits for the effects any more: the committed answer stands.
    func endWaiting(_ token: UInt64) {
        guard let index = preliminary.firstIndex(where: { $0.token == token }) else { return }
        answered.append(preliminary.remove(at: index))
    }

    /// The process ends before the commit: nothing is answered, and tasks continue.
    func giveUp() {
        // Its tasks have gone their way already: each is resumed once.
        guard !isRolledBack else { return }
        for case .applied(let continuation) in replies { continuation.resume(returning: false) }
        replies = []
        // Of Cyclers that have ended: a task that is never carried on never ends.
        for case .carryOn(let go) in effects { go(session) }
        effects = []
    }
}
