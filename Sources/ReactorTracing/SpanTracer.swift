public import ReactorHosting
public import Tracing

/// Makes spans of the server's work with swift-distributed-tracing.
///
/// ```swift
/// @main struct Main {
///     static func main() async {
///         InstrumentationSystem.bootstrap(tracer)
///         await ReactorServer.main(hosting: [Hosted("alerts") { Alerts() }], tracer: SpanTracer())
///     }
/// }
/// ```
///
/// | span | kind | from | to |
/// |---|---|---|---|
/// | `POST /v1/sessions/{id}/actions` | server | the complete request | the response |
/// | `commit` | internal | the decision on the request's actions | their commit |
/// | `effect` | internal | the beginning of a step of an effect | its end |
///
/// - Every route has a span like the first one, named after it. That of a stream ends with the head
///   of the response. Its attributes are `http.request.method`, `http.route`,
///   `http.response.status_code` and `reactor.session`, and with a problem `error.type`, its code.
/// - An `effect` is also an action of a Cycler. Its attributes are `reactor.name`,
///   `reactor.session`, `reactor.action`, and `reactor.effect` if it has an id.
/// - The parent of a request's span is the client's: `traceparent` and everything else that the
///   tracer extracts from the fields. The request's span is the parent of the other two, which may
///   last longer.
/// - While an effect runs, its span is the current one: spans that it makes, and requests of a
///   client that injects the context, belong to it.
/// - A span has an error with a status of 500 or more, if its connection closes before the
///   response, if the commit fails, and if the effect throws. A cancelled effect has the attribute
///   `reactor.cancelled` and no error.
/// - Not traced: paths that do not begin with `/v1/`, paths and methods that do not exist, sources,
///   effects that run again after a restart, and actions that a part sends to its parent.
public struct SpanTracer: RequestTracer {
    private let tracer: any Tracer

    /// - Parameter tracer: It is called on the threads of the event loops, and must not wait.
    ///   Default: the one that `InstrumentationSystem` has now, which is without effect unless the
    ///   program has set another one before.
    public init(_ tracer: any Tracer = InstrumentationSystem.tracer) {
        self.tracer = tracer
    }

    /// Begins the span of a request, with the client's as its parent.
    public func begin(_ request: TracedRequest) -> (any RequestSpan)? {
        var context = ServiceContext.topLevel
        tracer.extract(request, into: &context, using: Fields())
        let span = tracer.startAnySpan(
            "\(request.method) \(request.route)", context: context, ofKind: .server)
        span.updateAttributes { attributes in
            attributes["http.request.method"] = request.method
            attributes["http.route"] = request.route
            if let session = request.segment { attributes["reactor.session"] = session }
        }
        return ServerSpan(span, tracer)
    }
}

/// The fields of a request, for what a tracer extracts.
private struct Fields: Extractor {
    func extract(key: String, from request: TracedRequest) -> String? { request.field(key) }
}

/// The fields that a tracer injects, by name.
private struct Names: Injector {
    func inject(_ value: String, forKey key: String, into names: inout [String: String]) {
        names[key.lowercased()] = value
    }
}

private struct ServerSpan: RequestSpan {
    private let span: any Span
    private let tracer: any Tracer
    let traceparent: String?

    init(_ span: any Span, _ tracer: any Tracer) {
        self.span = span
        self.tracer = tracer
        var names: [String: String] = [:]
        tracer.inject(span.context, into: &names, using: Names())
        traceparent = names["traceparent"]
    }

    func beginCommit() -> any WorkSpan {
        PartSpan(span: tracer.startAnySpan("commit", context: span.context, ofKind: .internal))
    }

    func begin(_ effect: EffectDescription) -> any WorkSpan {
        let part = tracer.startAnySpan("effect", context: span.context, ofKind: .internal)
        part.updateAttributes { attributes in
            attributes["reactor.name"] = effect.reactor
            attributes["reactor.session"] = effect.session
            attributes["reactor.action"] = Int64(clamping: effect.action)
            if let id = effect.id { attributes["reactor.effect"] = id }
        }
        return PartSpan(span: part)
    }

    func end(status: Int?, problem: String?) {
        span.updateAttributes { attributes in
            if let status { attributes["http.response.status_code"] = status }
            if let problem { attributes["error.type"] = problem }
        }
        switch status {
        case nil:
            span.setStatus(SpanStatus(code: .error, message: "the connection has closed"))
        case .some(500...): span.setStatus(SpanStatus(code: .error))
        default: break
        }
        span.end()
    }
}

private struct PartSpan: WorkSpan {
    let span: any Span

    func start(_ start: () -> Task<Void, Never>) -> Task<Void, Never> {
        ServiceContext.$current.withValue(span.context, operation: start)
    }

    func end(_ failure: (any Error)?) {
        if let failure, failure is CancellationError {
            span.updateAttributes { $0["reactor.cancelled"] = true }
        } else if let failure {
            span.recordError(failure)
            span.setStatus(SpanStatus(code: .error, message: String(describing: failure)))
        }
        span.end()
    }
}
