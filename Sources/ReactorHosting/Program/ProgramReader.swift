internal import Feeds
internal import Sessions
internal import Synchronization

/// A reader of the program. It drives a ``RelayReading`` between the loop of the session and a task
/// of the program.
final class ProgramReader: Sendable {
    /// The outcome of a block.
    enum Delivery {
        case delivered
        /// The block is not for this reader.
        case skipped
        /// The reader has stopped reading.
        case abandoned
    }

    enum Ending {
        /// The session or the server has ended, or the reader has stopped reading.
        case over
        /// The next events are no longer kept.
        case tooSlow
    }

    private struct State {
        var reading: RelayReading
        /// Whether the first relay has reported, or never will.
        var isOpen = false
        var opening: CheckedContinuation<Void, Never>?
    }

    private let loop: Int
    private let peers: Peers
    // Why a lock: reports arrive on the session's loop, but the reader's task takes the elements.
    private let state: Mutex<State>
    private let signals = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    init(_ reading: RelayReading, on loop: Int, _ peers: Peers) {
        state = Mutex(State(reading: reading))
        self.loop = loop
        self.peers = peers
    }

    /// Returns when the reader misses no later event, or the session cannot be read now.
    func untilOpen() async {
        await withCheckedContinuation { waiter in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.opening = waiter }
                return state.isOpen
            }
            if isOpen { waiter.resume() }
        }
    }

    /// Reads until the stream ends. Called once.
    func run(_ deliver: (RelayBlock) -> Delivery) async -> Ending {
        open()
        for await _ in signals.stream {
            while let step = state.withLock({ $0.reading.next() }) {
                switch step {
                case .block(let block):
                    switch deliver(block) {
                    case .delivered: break
                    case .skipped: state.withLock { $0.reading.wasSkipped() }
                    case .abandoned: return close(.over)
                    }
                case .over: return close(.over)
                case .lost: return close(.tooSlow)
                case .reopen(let pause):
                    // The task is never cancelled.
                    if pause > .zero { try? await Task.sleep(for: pause) }
                    open()
                }
            }
            if let credit = state.withLock({ $0.reading.takeCredit() }) { send(credit) }
        }
        return close(.over)
    }

    /// The reader has read an element.
    func wasRead() {
        if state.withLock({ $0.reading.wasRead() }) { signals.continuation.yield() }
    }

    /// The reader has stopped reading, or the server ends.
    func stop() { signals.continuation.finish() }

    private func open() {
        send(state.withLock { $0.reading.open { [self] in receive($0) } })
    }

    private func send(_ request: RelayRequest) {
        let isRunning = peers.enqueue(on: loop) { $0.receive([request]) }
        if !isRunning { stop() }
    }

    private func receive(_ report: RelayReport) {
        let opening = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.reading.receive(report)
            guard state.reading.hasReported else { return nil }
            state.isOpen = true
            return state.opening.take()
        }
        opening?.resume()
        signals.continuation.yield()
    }

    private func close(_ ending: Ending) -> Ending {
        stop()
        let (request, opening) = state.withLock { state in
            state.isOpen = true
            return (state.reading.close, state.opening.take())
        }
        opening?.resume()
        peers.enqueue(on: loop) { $0.receive([request]) }
        return ending
    }
}

/// The readers of the program. They end with the server.
final class ProgramReaders: Sendable {
    private struct State {
        var readers: [UInt64: ProgramReader] = [:]
        var lastNumber: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Makes a reader, with a number of its own. ``remove(_:)`` has to follow.
    func add(_ make: (UInt64) -> ProgramReader) -> (reader: ProgramReader, number: UInt64) {
        let (reader, number, isClosed) = state.withLock { state in
            state.lastNumber += 1
            let reader = make(state.lastNumber)
            state.readers[state.lastNumber] = reader
            return (reader, state.lastNumber, state.isClosed)
        }
        if isClosed { reader.stop() }
        return (reader, number)
    }

    func remove(_ number: UInt64) { state.withLock { _ = $0.readers.removeValue(forKey: number) } }

    func close() {
        let readers = state.withLock { state in
            state.isClosed = true
            return Array(state.readers.values)
        }
        for reader in readers { reader.stop() }
    }
}
