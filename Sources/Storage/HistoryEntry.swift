/// One entry of a session's history: a record (of one version, one activity or one failure), or a
/// note of the action log between two records.
///
/// Invariant: `(session, generation, position)` is unique. Numbers of one generation rise by one
/// from 0. Notes may come last, before a record that does not exist yet.
package struct HistoryEntry: Sendable, Equatable {
    /// A journal stores the raw value.
    package enum Kind: UInt8, Sendable {
        case created, mutation, activity, failure, deleted
        /// An entry of the action log of any other kind; its part is above 0.
        case note
    }

    /// The fields of fixed size.
    package struct Head: Sendable, Equatable {
        package var position: HistoryPosition
        package var kind: Kind
        /// Mutations so far, this one included.
        package var version: UInt64
        /// The number of the action that led to the entry, within the session; 0 for none.
        package var action: UInt64
        /// Milliseconds since 1970 (UTC), when the entry was decided.
        package var time: Int64

        package init(
            _ kind: Kind, at position: HistoryPosition, version: UInt64 = 0, action: UInt64 = 0,
            time: Int64 = 0
        ) {
            self.kind = kind
            self.position = position
            self.version = version
            self.action = action
            self.time = time
        }
    }

    /// One event of a record, encoded; it is stored so that resuming never decodes.
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
    package var head: Head
    /// The mutation (or a Cycler's committed state), activity, failure or note as one line of JSON.
    package var content: [UInt8]
    package var events: [Event]
    /// W3C `traceparent` of the request that caused the entry, if there was one.
    package var traceparent: String?

    package init(
        session: String, reactor: String, generation: String, head: Head, content: [UInt8] = [],
        events: [Event] = [], traceparent: String? = nil
    ) {
        self.session = session
        self.reactor = reactor
        self.generation = generation
        self.head = head
        self.content = content
        self.events = events
        self.traceparent = traceparent
    }

    package var position: HistoryPosition { head.position }
    package var number: UInt64 { head.position.number }
    package var part: UInt32 { head.position.part }
    package var kind: Kind { head.kind }
    package var version: UInt64 { head.version }
    package var action: UInt64 { head.action }
    package var time: Int64 { head.time }
    package var key: SessionKey { SessionKey(session: session, generation: generation) }
}
