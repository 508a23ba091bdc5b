package import Feeds

/// The receiver of a table's replies and events: the layer above, on the loop of the sessions.
///
/// Invariant: no method calls the session that it is called from.
package protocol SessionOutput: ReaderOutput {
    /// Sends the answer to the request with this token. Has no effect if its connection is closed.
    func reply(_ content: Reply.Content, to token: UInt64)

    /// Reads the clock again: a call of a reactor's code took so long that the time of this pass is
    /// no longer the present one.
    func timeHasPassed()

    /// Logs a failure for the operator.
    func report(_ failure: SessionFailure, of feed: Feed)
}

/// A failure in a session that does not end it.
package enum SessionFailure {
    /// User code failed.
    case failed(place: String, error: String)
    /// A value has no JSON, so `null` is written instead, or the value is missing.
    case unencodable(_ what: String, _ error: String)
    /// The activity's encoded form has no usable name; the activity was not sent.
    case unnamedActivity(String)
    /// A value was dropped because its effect had ended or was cancelled.
    case dropped(_ what: String)
    /// A turn took longer than ``SessionLimits/slowTurnNanoseconds``.
    case slow(Turn, actionCase: String?)
    /// The commit of a step failed; the step was rolled back.
    case commitFailed(String)
    /// The session's data in the journal cannot be read, or today's code cannot use them.
    case unreadable(String)

    /// Another program has accepted the value. Sessions that cannot decode it skip it.
    static func undecodable(
        topic: String, _ number: UInt64, _ error: any Error
    ) -> SessionFailure {
        .unreadable("the value \(number) of the topic \(topic) is skipped: \(error)")
    }
}
