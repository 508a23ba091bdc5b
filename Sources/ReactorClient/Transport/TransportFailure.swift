/// The reason why a response is not complete.
///
/// It does not say whether the server has received the request.
public struct TransportFailure: Error, Hashable, Sendable {
    /// A rough kind of failure, for programs; more of them may be added.
    public enum Kind: Hashable, Sendable {
        /// By ``TransportHandle/cancel()``, or because the transport has ended.
        case cancelled
        /// The request has no form that can be sent; it has not left.
        case badRequest
        /// No connection: the name is unknown, nobody listens, the network is down.
        case unreachable
        /// No secure connection: the certificate of the server is not trusted, for example.
        case insecure
        /// The connection was lost.
        case interrupted
        /// The response breaks the rules of HTTP, or a bound of the transport.
        case badResponse
        /// A bound of the transport itself, or of the system: memory, descriptors, threads.
        case exhausted
    }

    /// The rough kind.
    public var kind: Kind
    /// A sentence for people, without secrets.
    public var message: String

    /// A failure with a sentence for people.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

extension TransportFailure: CustomStringConvertible {
    /// The sentence.
    public var description: String { message }
}
