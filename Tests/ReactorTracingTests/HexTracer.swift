import InMemoryTracing
import Tracing

/// An `InMemoryTracer` that sends and receives W3C's `traceparent`.
struct HexTracer: Tracer {
    let memory = InMemoryTracer(
        idGenerator: .init(
            nextTraceID: { Self.digits(32) }, nextSpanID: { Self.digits(16) }),
        recordInjections: false, recordExtractions: false)

    private static func digits(_ count: Int) -> String {
        String((0..<count).map { _ in "123456789abcdef".randomElement() ?? "1" })
    }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> InMemorySpan {
        memory.startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function,
            file: fileID, line: line)
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Carrier == Inject.Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject(
            "00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Carrier == Extract.Carrier {
        let parts =
            extractor.extract(key: "TraceParent", from: carrier)?.split(separator: "-") ?? []
        guard parts.count == 4 else { return }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: String(parts[1]), spanID: String(parts[2]), parentSpanID: nil)
    }

    /// Waits for a span that has ended, and returns it.
    func ended(
        where matches: (FinishedInMemorySpan) -> Bool
    ) async throws -> FinishedInMemorySpan {
        while true {
            if let span = memory.finishedSpans.first(where: matches) { return span }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    func ended(_ name: String) async throws -> FinishedInMemorySpan {
        try await ended { $0.operationName == name }
    }
}
