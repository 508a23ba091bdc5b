/// The services of the layer above, on the loop of the sessions.
///
/// Invariant: none of these calls back into the session it is called from.
package protocol SessionOutput: AnyObject {
    /// Writes to the subscriber's connection, and returns how many bytes it accepted. After fewer than
    /// given, ``Subscriber/resume()`` is called when there is room.
    func write(_ bytes: Span<UInt8>, to subscriber: UInt64) -> Int

    /// The answer to the request that `token` stands for is due. A connection that is gone is ignored.
    func reply(_ content: Reply.Content, to token: UInt64)

    /// The session has ended and the subscriber has got everything: close.
    func finish(_ subscriber: Subscriber)

    /// Something that a person who runs this should be able to read.
    func report(_ failure: SessionFailure, of session: Session)
}

/// A failure in a session that does not end it.
package enum SessionFailure {
    /// User code failed.
    case failed(place: String, error: String)
    /// A value can't be written as JSON, so it is missing where it belongs.
    case unencodable(_ what: String, _ error: String)
    /// The activity's encoded form gives it no usable name; it was not sent.
    case unnamedActivity(String)
    /// It came from an effect that had ended or was cancelled.
    case dropped(_ what: String)
    /// The journal did not take the step; everything in it was rolled back.
    case commitFailed(String)
    /// Its data in the journal can't be read, or today's code can't use them.
    case unreadable(String)
}
