/// A stream from outside that a session listens to. Inside a reactor it is written `Source`.
///
/// It is started once, when the session starts, whoever reads; it ends with the session. When the
/// stream ends or fails before that, the session lives and records it.
public struct ReactorSource<Action: Sendable, Mutation: Sendable>: Sendable {
    /// What a stream brings into the session.
    package enum Element: Sendable {
        case action(Action)
        case mutation(Mutation)
    }

    /// Names the source in records.
    public let name: String

    /// Reads the stream to its end. The closure waits until the session has taken the element and
    /// answers whether to go on.
    package let read: @Sendable (_ deliver: @Sendable (Element) async -> Bool) async throws -> Void

    /// Every element of the sequence becomes a mutation of the session.
    ///
    /// - Parameter name: names the source in records. Default: `"mutations"`.
    public static func mutations<Stream: AsyncSequence & Sendable>(
        _ stream: Stream, name: String = "mutations"
    ) -> ReactorSource where Stream.Element == Mutation {
        ReactorSource(name: name) { deliver in
            for try await mutation in stream {
                guard await deliver(.mutation(mutation)) else { return }
            }
        }
    }

    /// Every element of the sequence becomes an action of the session.
    ///
    /// - Parameter name: names the source in records. Default: `"actions"`.
    public static func actions<Stream: AsyncSequence & Sendable>(
        _ stream: Stream, name: String = "actions"
    ) -> ReactorSource where Stream.Element == Action {
        ReactorSource(name: name) { deliver in
            for try await action in stream {
                guard await deliver(.action(action)) else { return }
            }
        }
    }
}
