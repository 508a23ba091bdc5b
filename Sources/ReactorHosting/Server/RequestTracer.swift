internal import Sessions
internal import Wire

/// Gets the spans of the server's work: of each request, of its commit and of its effects.
///
/// The product `ReactorTracing` has one for swift-distributed-tracing. Its functions are called on
/// the thread of an event loop, where everything else waits meanwhile, so they wait for nothing.
public protocol RequestTracer: Sendable {
    /// Begins the span of a request, before the client is verified.
    ///
    /// It is called for each request whose method and path exist and whose path begins with `/v1/`.
    ///
    /// - Returns: nil: the request is not traced, and neither are its commit and its effects.
    func begin(_ request: TracedRequest) -> (any RequestSpan)?
}

/// A request whose span begins.
public struct TracedRequest: Sendable {
    /// `POST`; of a HEAD request `GET`.
    public let method: String
    /// The path of the route: `/v1/sessions/{id}/actions`.
    public let route: String
    /// The operation in openapi.yaml: `postActions`.
    public let operation: String
    /// The id in the path, as it was sent; nil if there is none.
    public let segment: String?
    private let head: RequestHead

    init(_ request: borrowing Request, route: Route) {
        method = route.method
        self.route = route.path
        operation = route.operationID
        segment = if let range = request.segment { request.head.text(range) } else { nil }
        head = request.head
    }

    /// The first value of a field, white space trimmed; nil without one. The fields may have
    /// secrets: `Authorization`, `Cookie`.
    ///
    /// - Parameter name: In any case.
    public func field(_ name: String) -> String? {
        let wanted = Array(name.lowercased().utf8)
        let line = head.fieldLines.first { head.matches($0.name, ignoringCase: wanted) }
        return line.map { head.text($0.value) }
    }
}

/// The span of a request. It ends with the response, or the head of a stream; its commit and its
/// effects may last longer.
public protocol RequestSpan: Sendable {
    /// The span as W3C's `traceparent`; nil if the tracer uses another format. It stands in the
    /// response, the log and the session's records if the client has sent none.
    var traceparent: String? { get }

    /// The decisions of the request wait for the journal.
    func beginCommit() -> any WorkSpan

    /// A step of an effect begins, or an action of a Cycler.
    func begin(_ effect: EffectDescription) -> any WorkSpan

    /// The response is due. Called once.
    ///
    /// - Parameters:
    ///   - status: The status of the response; nil if the connection has closed before.
    ///   - problem: The code of a problem.
    func end(status: Int?, problem: String?)
}

/// The span of a commit or an effect.
public protocol WorkSpan: Sendable {
    /// Calls `start`, in which a task is made: that inherits the task-local values that are set
    /// around the call, such as a tracer's context.
    func start(_ start: () -> Task<Void, Never>) -> Task<Void, Never>

    /// Ends the span. Called once, from any thread.
    ///
    /// - Parameter failure: Nil without one, `CancellationError` if the effect was cancelled.
    func end(_ failure: (any Error)?)
}

extension WorkSpan {
    /// Calls `start`, without a value around the call.
    public func start(_ start: () -> Task<Void, Never>) -> Task<Void, Never> { start() }
}

/// An effect's step, or an action of a Cycler.
public struct EffectDescription: Sendable {
    /// The name under which the reactor is hosted.
    public let reactor: String
    /// The session's id.
    public let session: String
    /// The number of the action in the session's log.
    public let action: UInt64
    /// The effect's id; nil if it has none, and for a Cycler.
    public let id: String?
}

/// Gives the parts of a request's trace to its span.
final class RequestTrail: RequestTrace {
    private let span: any RequestSpan

    init(_ span: any RequestSpan) { self.span = span }

    func beginCommit() -> any TracedWork { Part(span: span.beginCommit()) }

    func begin(_ effect: TracedEffect) -> any TracedWork {
        Part(
            span: span.begin(
                EffectDescription(
                    reactor: effect.reactor, session: effect.session, action: effect.action,
                    id: effect.id)))
    }

    private struct Part: TracedWork {
        let span: any WorkSpan

        func start(_ start: () -> Task<Void, Never>) -> Task<Void, Never> { span.start(start) }

        func end(_ failure: (any Error)?) { span.end(failure) }
    }
}
