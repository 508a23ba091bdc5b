/// The receiver of a table's replies and events: the layer above, on the loop of the sessions.
///
/// Invariant: no method calls the session that it is called from.
package protocol SessionOutput: AnyObject {
    /// Writes to the subscriber's connection, and returns how many bytes it accepted. After fewer than
    /// given, ``Subscriber/resume()`` is called when there is room.
    func write(_ bytes: Span<UInt8>, to subscriber: UInt64) -> Int

    /// Sends the answer to the request with this token. Has no effect if its connection is closed.
    func reply(_ content: Reply.Content, to token: UInt64)

    /// Closes the connection of a subscriber that has got everything, because the session has ended.
    func finish(_ subscriber: Subscriber)

    /// Closes the connection of a subscriber, with the problem that there is no room for what it
    /// needs (``WorkBudget``). The subscriber is cancelled.
    func refuse(_ subscriber: Subscriber)

    /// The client of a request or a stream, for its share of the ``WorkBudget``; nil: it has none.
    func client(of token: UInt64) -> WorkClient?

    /// Moves the connection of a subscriber that has got everything to another loop, where
    /// ``StreamBranches/adopt(_:as:in:)`` continues it.
    func move(_ subscriber: Subscriber, to loop: Int, _ opening: BranchOpening) -> ReaderMove

    /// Moves the connection of a subscriber, which has left, to the loop of its session, where
    /// ``SessionTable/continueStream(_:as:_:)`` continues it.
    ///
    /// - Returns: false if it cannot be moved; the connection is then finished.
    func sendBack(_ subscriber: Subscriber, _ reader: ReturningReader) -> Bool

    /// Reads the clock again: a call of a reactor's code took so long that the time of this pass is
    /// no longer the present one.
    func timeHasPassed()

    /// Logs a failure for the operator.
    func report(_ failure: SessionFailure, of session: Session)
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
}
