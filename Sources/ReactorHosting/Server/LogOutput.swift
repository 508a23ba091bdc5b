internal import Dispatch
internal import Synchronization

/// Takes log lines from any thread and writes them in their order, on a queue of its own.
///
/// Why: a pipe that nobody reads holds up whoever writes to it, and event loops must not be. Up to
/// 1 MiB waits; lines beyond that are dropped, and where they would stand is told how many.
final class LogOutput: Sendable {
    private struct Book {
        var waiting: [UInt8] = []
        var dropped = 0
        var isWriting = false
    }

    static let standardError = LogOutput { Standard.error($0) }

    private let limitBytes: Int
    private let write: @Sendable ([UInt8]) -> Void
    private let queue = DispatchQueue(label: "log", qos: .utility)
    private let book = Mutex(Book())

    /// - Parameters:
    ///   - limitBytes: of lines that wait while others are written.
    ///   - write: writes all of it, however long that takes.
    init(limitBytes: Int = 1_048_576, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.limitBytes = limitBytes
        self.write = write
    }

    /// - Parameter line: whole, with the line feed at its end.
    func append(_ line: [UInt8]) {
        let starts = book.withLock { book in
            guard book.waiting.count + line.count <= limitBytes else {
                book.dropped += 1
                return false
            }
            if book.dropped > 0 {
                book.waiting += Self.note(book.dropped)
                book.dropped = 0
            }
            book.waiting += line
            defer { book.isWriting = true }
            return !book.isWriting
        }
        if starts { queue.async { [self] in writeWaiting() } }
    }

    /// Returns when all of it is written, or after a second.
    func flush() async {
        let (ends, end) = AsyncStream<Void>.makeStream()
        queue.async { end.finish() }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) { end.finish() }
        for await _ in ends {}
    }

    private func writeWaiting() {
        while true {
            let lines = book.withLock { book in
                var lines: [UInt8] = []
                swap(&lines, &book.waiting)
                if book.dropped > 0 {
                    lines += Self.note(book.dropped)
                    book.dropped = 0
                }
                book.isWriting = !lines.isEmpty
                return lines
            }
            guard !lines.isEmpty else { return }
            write(lines)
        }
    }

    private static func note(_ count: Int) -> [UInt8] {
        Array("(lines dropped here, for nobody read the log in time: \(count))\n".utf8)
    }
}
