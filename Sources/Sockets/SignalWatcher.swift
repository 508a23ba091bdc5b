package import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Turns signals such as SIGTERM into calls on a queue, in place of their default actions.
///
/// Any code is permitted in the call, unlike in a signal handler. Signals that arrive during a call
/// may be merged. Watching starts a moment after `init` (see `untilWatching`); before that a signal
/// has its previous action. After `cancel` the signals are ignored and not restored to their
/// default: a second SIGTERM must not interrupt the shutdown that the first one started.
package final class SignalWatcher: Sendable {
    // Sources can be used from any thread, but their protocol does not declare it.
    private let sources: Mutex<[any DispatchSourceSignal]>
    private let registering = DispatchGroup()
    private let queue: DispatchQueue

    /// Watches until `cancel`, or until it is released.
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
                    // The default action would precede Dispatch. On Linux Dispatch replaces it;
                    // ignoring would lose earlier signals.
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
        // Functions are not comparable; SIG_IGN is a number that is not a function's address.
        return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Returns when all later signals will be reported.
    package func untilWatching() async {
        await withCheckedContinuation { continuation in
            registering.notify(queue: queue) { continuation.resume() }
        }
    }

    package func cancel() {
        sources.withLock { sources in
            for source in sources { source.cancel() }
        }
    }
}
