/// Carries requests to a server, and their responses back.
///
/// A transport has no policy: it repeats nothing, follows no redirect, keeps no cookie and has no
/// deadline. The client decides all of that. Most HTTP clients send a request again when a kept
/// connection turns out to be closed: a POST without `Idempotency-Key` must be exempt, for it could
/// be carried out twice. `CurlTransport` is the one for Linux, `URLSessionTransport` the one for
/// Apple platforms; a program that has an HTTP client of its own already can write another.
public protocol ClientTransport: Sendable {
    /// Starts a request.
    ///
    /// Does not wait: it is called on any thread, such as the one that sends. The receiver is
    /// called on a thread of the transport's choice, possibly before this function returns. The
    /// transport keeps the receiver until it has called ``TransportReceiver/ended(_:)``, which
    /// happens in every case: a request that cannot be made ends with a failure.
    func start(
        _ request: TransportRequest, _ receiver: any TransportReceiver
    ) -> any TransportHandle
}

/// Receives one response.
///
/// Calls do not overlap and have an order: ``head(_:_:)`` once, ``bytes(_:)`` any number of times,
/// ``ended(_:)`` once. Only ``ended(_:)`` is certain to come. All of them return soon: one thread
/// may serve all requests of a transport.
public protocol TransportReceiver: Sendable {
    /// The status and the fields of the response; of an informational one (1xx)
    /// nothing is reported.
    func head(_ status: Int, _ fields: [TransportField])

    /// The next bytes of the body, which is neither decompressed nor otherwise decoded.
    ///
    /// - Returns: whether more bytes may follow now. After ``TransportDemand/pause`` none follow
    ///   until ``TransportHandle/resume()``; the transport then stops reading the connection, so
    ///   that the memory of both sides stays bounded.
    func bytes(_ chunk: [UInt8]) -> TransportDemand

    /// Nothing follows. It can come while the receiver pauses.
    ///
    /// - Parameter failure: nil if the response is complete.
    func ended(_ failure: TransportFailure?)
}

/// A transport that calls its receivers in rounds, and says when one ends: what several connections
/// have brought at once wakes the client once.
protocol RoundTransport: ClientTransport {}

/// A receiver that a ``RoundTransport`` calls after a round in which it has called it.
protocol RoundReceiver: TransportReceiver, AnyObject {
    func roundEnded()
}

/// Controls one request that was started. Every call can come at any time, on any thread, also from
/// within a call of the receiver.
public protocol TransportHandle: Sendable {
    /// Continues after ``TransportDemand/pause``; without effect on a request that does not pause.
    func resume()

    /// Ends the request: ``TransportReceiver/ended(_:)`` follows with
    /// ``TransportFailure/Kind/cancelled``, unless it has come already. Of the other calls at most
    /// one follows, which has begun on another thread.
    func cancel()
}

/// Whether a receiver can receive more bytes.
public enum TransportDemand: Hashable, Sendable {
    case more
    /// None until ``TransportHandle/resume()``. The bytes of the call itself are received.
    case pause
}
