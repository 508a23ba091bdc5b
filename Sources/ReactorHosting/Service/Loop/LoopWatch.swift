internal import Dispatch
internal import Logging
internal import Sockets
internal import Storage
internal import Synchronization

/// Finds the loops that are occupied for long, from outside of them.
///
/// Design: a loop publishes the beginning of its present pass, and its work. A timer on a queue of
/// its own reads them, so a loop that does not return is found and named.
final class LoopWatch: Sendable {
    struct Occupied: Sendable, Equatable {
        let loop: Int
        let since: LoopInstant
        let time: Duration
        /// The call of a reactor's code; nil if the loop does something else.
        let work: InterruptedWork?
    }

    private struct Watched {
        let passes: PassClock
        let work: CrashSlotReader
        /// The beginning of the last pass that was logged.
        var logged: LoopInstant?
    }

    /// The time of a pass from which its loop is stuck.
    let limit: Duration
    private let logger: Logger
    private let loops = Mutex<[Int: Watched]>([:])
    private let timer = Mutex<(any DispatchSourceTimer)?>(nil)

    private let logSize = LogSizeWatch()
    /// The size of the journal's log; nil if it has none.
    private let logBytes: @Sendable () -> Int?

    init(
        limit: Duration, logger: Logger, logBytes: @escaping @Sendable () -> Int? = { nil }
    ) {
        self.limit = limit
        self.logger = logger
        self.logBytes = logBytes
    }

    func add(_ loop: Int, _ passes: PassClock, _ work: CrashSlotReader) {
        loops.withLock { $0[loop] = Watched(passes: passes, work: work) }
    }

    /// The time of each loop's present pass, by the loop's number; 0 for a loop that waits.
    func times(at now: LoopInstant = .read()) -> [(loop: Int, time: Duration)] {
        loops.withLock { loops in
            loops.map { loop, watched in
                (loop, watched.passes.began.map { max(.zero, now - $0) } ?? .zero)
            }
        }.sorted { $0.loop < $1.loop }
    }

    /// The loops whose present pass has taken longer than `time`, by their numbers.
    func occupied(for time: Duration, at now: LoopInstant = .read()) -> [Occupied] {
        loops.withLock { loops in
            loops.compactMap { loop, watched in
                guard let since = watched.passes.began, now - since > time else { return nil }
                return Occupied(
                    loop: loop, since: since, time: now - since, work: watched.work.present)
            }
        }.sorted { $0.loop < $1.loop }
    }

    /// Logs each pass that exceeds the limit, once, while it lasts.
    func start() {
        let interval = Int(min(max(limit / 4, .milliseconds(10)), .seconds(1)).milliseconds)
        timer.withLock { timer in
            let source = DispatchSource.makeTimerSource(
                queue: DispatchQueue(label: "reactor-server.watch"))
            source.schedule(
                deadline: .now() + .milliseconds(interval), repeating: .milliseconds(interval),
                leeway: .milliseconds(interval / 4))
            source.setEventHandler { [weak self] in self?.look() }
            source.activate()
            timer = source
        }
    }

    func stop() {
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
    }

    /// Logs the loops that are stuck and were not logged in this pass.
    func look(at now: LoopInstant = .read()) {
        if let bytes = logBytes() { logSize.look(at: bytes, logger) }
        for one in occupied(for: limit, at: now) where claim(one) {
            var metadata: Logger.Metadata = [
                "loop": .stringConvertible(one.loop),
                "duration_ms": .stringConvertible(LogMilliseconds(one.time)),
            ]
            if let work = one.work {
                metadata["session"] = "\(work.session)"
                metadata["reactor"] = "\(work.reactor)"
                if case .loop(let kind) = work.trace { metadata["work"] = "\(kind)" }
                if work.action > 0 { metadata["action"] = .stringConvertible(work.action) }
            }
            logger.error("a loop is stuck", metadata: metadata)
        }
    }

    private func claim(_ one: Occupied) -> Bool {
        loops.withLock { loops in
            guard loops[one.loop]?.logged != one.since else { return false }
            loops[one.loop]?.logged = one.since
            return true
        }
    }
}
