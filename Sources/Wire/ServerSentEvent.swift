/// One event of an event stream, as a reader receives it.
package struct ServerSentEvent: Sendable, Equatable {
    /// The event's type; `message` if the stream has none.
    package var name: String
    /// The data lines, joined by LF.
    package var data: String
    /// The last id so far, including this event's own; empty before the first.
    package var lastEventID: String
    /// The `Idempotency-Key` of the request that has led to the event, if the service names one: a
    /// field of its own, which the standard does not know.
    package var cause: String?

    package init(name: String, data: String, lastEventID: String, cause: String? = nil) {
        self.name = name
        self.data = data
        self.lastEventID = lastEventID
        self.cause = cause
    }
}

package enum EventStreamFailure: Error, Sendable, Equatable {
    /// A line, or the data of one event, is larger than this many bytes.
    case eventTooLarge(limit: Int)
}
