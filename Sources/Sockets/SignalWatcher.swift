package import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Turns signals such as SIGTERM and SIGINT into calls on a queue, in place of what they do by
/// default.
///
/// Everything is allowed in the call, unlike in a signal handler. Signals that come while one is
/// being told may be told once. After `cancel` the signals are ignored, not back at their default:
/// a second SIGTERM must not cut short the end that the first began.
package final class SignalWatcher: Sendable {
    // Sources may be used from any thread, but the protocol does not say so.
    private let sources: Mutex<[any DispatchSourceSignal]>

    /// Watches at once, until `cancel` or its own end.
    ///
    /// - Parameters:
    ///   - signals: their numbers.
    ///   - queue: where `receive` is called; a private one by default.
    package init(
        _ signals: [Int32] = [SIGTERM, SIGINT],
        queue: DispatchQueue = DispatchQueue(label: "signals"),
        receive: @escaping @Sendable (Int32) -> Void
    ) {
        let sources = signals.map { number in
            // The default action comes before Dispatch on Darwin. On Linux Dispatch replaces this
            // with its own.
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { receive(number) }
            source.activate()
            return source
        }
        self.sources = Mutex(sources)
    }

    deinit {
        cancel()
    }

    /// Watches no more.
    package func cancel() {
        sources.withLock { sources in
            for source in sources { source.cancel() }
        }
    }
}
