/// What one version, one activity or one failure leaves in the journal; or a note of the action
/// log on the way to the next of them.
///
/// Law: `(session, generation, number, part)` is unique. Numbers of one generation rise by one
/// from 0; before the record `n` its notes come as `(n, 1)`, `(n, 2)`, … (contract §1: a bare
/// position means that everything up to it is seen). Notes may stand at the end, with no record
/// of their number yet.
package struct Record: Sendable, Equatable {
    /// What happened; the raw value is what a journal stores.
    package enum Kind: UInt8, Sendable {
        case created, mutation, activity, failure, deleted
        /// An entry of the action log that is none of the others; its `part` is above 0.
        case note
    }

    /// What it has besides what happened.
    package var head: RecordHead {
        var head = RecordHead(kind, number: number)
        head.part = part
        head.version = version
        head.action = action
        head.time = time
        return head
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
    /// The record's sequence number; 0 is the session's creation. For a note: that of the record
    /// which comes next.
    package var number: UInt64
    /// 0 for a record, counted from 1 for the notes before it.
    package var part: UInt32 = 0
    /// Mutations so far, this one included.
    package var version: UInt64
    package var kind: Kind
    /// The action that led to it, by its number within the session; 0 for none.
    package var action: UInt64 = 0
    /// Milliseconds since 1970 (UTC), when it was decided.
    package var time: Int64 = 0
    /// The mutation (or a Cycler's committed state), activity, failure or note as one line of JSON.
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

/// What every record has; its fields are as ``Record`` has them.
package struct RecordHead: Sendable {
    package var kind: Record.Kind
    package var number: UInt64
    package var part: UInt32 = 0
    package var version: UInt64 = 0
    package var action: UInt64 = 0
    package var time: Int64 = 0

    package init(_ kind: Record.Kind, number: UInt64) {
        self.kind = kind
        self.number = number
    }

    package var place: RecordPlace { RecordPlace(number, part: part) }
}
