/// What one version, one activity or one failure leaves in the journal.
///
/// Law: `(session, generation, number)` is unique, and numbers of one generation rise by one.
package struct Record: Sendable, Equatable {
    /// What happened; the raw value is what a journal stores.
    package enum Kind: UInt8, Sendable {
        case created, mutation, activity, failure, deleted
    }

    /// One event of the record, already encoded; it is stored so that resume never decodes.
    package struct Event: Sendable, Equatable {
        package var name: String
        package var data: [UInt8]

        package init(name: String, data: [UInt8]) {
            self.name = name
            self.data = data
        }
    }

    package var session: String
    /// The reactor's registered name; a journal that rebuilds a session needs it with `created`.
    package var reactor: String
    package var generation: String
    /// The record's sequence number; 0 is the session's creation.
    package var number: UInt64
    /// Mutations so far, this one included.
    package var version: UInt64
    package var kind: Kind
    /// The mutation, activity or failure as one line of JSON.
    package var content: [UInt8]
    package var events: [Event]
    /// W3C `traceparent` of the request that caused it, if there was one.
    package var traceparent: String?

    package init(
        session: String, reactor: String, generation: String, number: UInt64, version: UInt64,
        kind: Kind, content: [UInt8] = [], events: [Event] = [], traceparent: String? = nil
    ) {
        self.session = session
        self.reactor = reactor
        self.generation = generation
        self.number = number
        self.version = version
        self.kind = kind
        self.content = content
        self.events = events
        self.traceparent = traceparent
    }
}
