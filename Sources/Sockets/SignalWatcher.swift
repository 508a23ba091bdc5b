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
/// being reported may be reported once. It begins a moment after `init` (see `untilWatching`); before that
/// a signal does what it always did. After `cancel` the signals do nothing, they are not back at
/// their default: a second SIGTERM must not cut short the end that the first began.
package final class SignalWatcher: Sendable {
    // Sources may be used from any thread, but the protocol does not say so.
    private let sources: Mutex<[any DispatchSourceSignal]>
    private let registering = DispatchGroup()
    private let queue: DispatchQueue

    /// Watches until `cancel` or its own end.
    ///
    /// - Parameters:
    ///   - signals: their numbers.
    ///   - queue: where `receive` is called; a private one by default.
    ///   - receive: is given the signal's number.
    package init(
        _ signals: [Int32] = [SIGTERM, SIGINT],
        queue: DispatchQueue = DispatchQueue(label: "signals"),
        receive: @escaping @Sendable (Int32) -> Void
    ) {
        self.queue = queue
        let registering = registering
        self.sources = Mutex(
            signals.map { number in
                registering.enter()
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setRegistrationHandler { registering.leave() }
                source.setEventHandler { receive(number) }
                #if !os(Linux)
                    // The default action comes before Dispatch. On Linux Dispatch puts a handler of
                    // its own in the default's place; ignoring would lose what comes before that.
                    _ = signal(number, SIG_IGN)
                #endif
                source.activate()
                return source
            })
    }

    deinit {
        cancel()
    }

    /// Whether the process ignores the signal, for example because it was started so.
    package static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard unsafe sigaction(signal, nil, &action) == 0 else { return false }
        #if canImport(Glibc)
            let handler = unsafe action.__sigaction_handler.sa_handler
        #else
            let handler = unsafe action.__sigaction_u.__sa_handler
        #endif
        // Functions are not comparable; SIG_IGN is a number that is none's address.
        return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Returns when every signal that comes from now on will be reported.
    package func untilWatching() async {
        await withCheckedContinuation { continuation in
            registering.notify(queue: queue) { continuation.resume() }
        }
    }

    /// Watches no more.
    package func cancel() {
        sources.withLock { sources in
            for source in sources { source.cancel() }
        }
    }
}
