internal import Dispatch
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

    /// - Parameter line: A whole line, with the line feed at its end.
    func append(_ line: [UInt8]) {
        let starts = state.withLock { state in
            guard state.waiting.count + line.count <= limitBytes else {
                state.dropped += 1
                return false
            }
            if state.dropped > 0 {
                state.waiting += Self.droppedLine(state.dropped)
                state.dropped = 0
            }
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
                if state.dropped > 0 {
                    lines += Self.droppedLine(state.dropped)
                    state.dropped = 0
                }
                state.isWriting = !lines.isEmpty
                return lines
            }
            guard !lines.isEmpty else { return }
            write(lines)
        }
    }

    private static func droppedLine(_ count: Int) -> [UInt8] {
        Array("[\(count) log lines dropped: the log reader was too slow]\n".utf8)
    }
}
