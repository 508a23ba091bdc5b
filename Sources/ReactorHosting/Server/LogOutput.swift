internal import Dispatch
internal import Logging
internal import Synchronization

/// Accepts log lines from any thread and writes them in order, on a queue of its own.
///
/// Why: a write to a pipe that nobody reads blocks, and an event loop must not block. Up to 1 MiB
/// of lines wait; further lines are dropped and replaced by a line with their number.
final class LogOutput: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        var dropped = 0
        var isWriting = false
        var format = LogFormat.logfmt
        var droppedTotal = 0
    }

    static let standardError = LogOutput { Standard.error($0) }

    private let limitBytes: Int
    private let write: @Sendable ([UInt8]) -> Void
    private let queue = DispatchQueue(label: "log", qos: .utility)
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limitBytes: The bytes of lines that wait during a write.
    ///   - write: Writes all bytes, regardless of the time.
    init(limitBytes: Int = 1_048_576, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.limitBytes = limitBytes
        self.write = write
    }

    var format: LogFormat {
        get { state.withLock { $0.format } }
        set { state.withLock { $0.format = newValue } }
    }

    /// The number of lines that were ever dropped.
    var droppedTotal: Int { state.withLock { $0.droppedTotal } }

    func append(_ line: [UInt8]) {
        let starts = state.withLock { state in
            guard state.waiting.count + line.count <= limitBytes else {
                state.dropped += 1
                state.droppedTotal += 1
                return false
            }
            if let note = Self.removeDroppedLine(&state) { state.waiting += note }
            state.waiting += line
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if starts { queue.async { [self] in writeWaiting() } }
    }

    /// Returns when all lines are written, or after a second.
    func flush() async {
        let (ends, end) = AsyncStream<Void>.makeStream()
        queue.async { end.finish() }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) { end.finish() }
        for await _ in ends {}
    }

    private func writeWaiting() {
        while true {
            let lines = state.withLock { state in
                var lines: [UInt8] = []
                swap(&lines, &state.waiting)
                if let note = Self.removeDroppedLine(&state) { lines += note }
                state.isWriting = !lines.isEmpty
                return lines
            }
            guard !lines.isEmpty else { return }
            write(lines)
        }
    }

    /// The line in place of the lines that were dropped since the last one; nil if none was.
    private static func removeDroppedLine(_ state: inout State) -> [UInt8]? {
        guard state.dropped > 0 else { return nil }
        defer { state.dropped = 0 }
        return LogLine.bytes(
            state.format, .warning, "log", "log lines were dropped: the log reader is too slow",
            [(key: "dropped", value: .stringConvertible(state.dropped))])
    }
}
