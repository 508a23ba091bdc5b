// Subscribers: connections that sent one GET and read its event stream for as long as it lasts. A
// stream that the server closes in order is opened again with `Last-Event-ID`, and the new stream
// must continue the old one.
#if os(Linux)
    import Glibc

    /// Opens streams, reads them and checks their events.
    struct SubscriberPool: ~Copyable {
        private enum Phase {
            case unopened
            case connecting
            case awaitingHead
            case awaitingFirstBytes
            case streaming
            /// The stream is established, and not read any more.
            case stalled
            case closed
        }

        private struct Subscriber {
            var descriptor: Int32 = -1
            var phase = Phase.unopened
            var reader = ResponseReader()
            var scanner = EventScanner()
            var connectedAt: UInt64 = 0
            var wasEstablished = false
        }

        /// Distinguishes this pool's events from those of other pools of the poller.
        let tag: UInt64
        private let plan: SubscriberPlan
        private var subscribers: [Subscriber]
        private var scratch: [UInt8] = []
        private var nextToOpen = 0
        private var opening = 0
        /// The last status that was not 200.
        private var refusal: Int?

        /// The ledger of the events that each subscriber received.
        var ledger: DeliveryLedger
        /// How many streams were established at least once.
        private(set) var established = 0
        /// The time from the start of a connection to its first bytes.
        private(set) var ramp = Histogram()
        /// The body bytes received.
        private(set) var bytes: UInt64 = 0
        /// The number of stalled subscribers that the server disconnected.
        private(set) var stalledClosed = 0

        /// A pool without connections. `tag` must differ from those of the poller's other pools.
        init(_ plan: SubscriberPlan, tag: UInt64) {
            self.plan = plan
            self.tag = tag << 32
            subscribers = [Subscriber](repeating: Subscriber(), count: plan.count)
            ledger = DeliveryLedger(
                subscribers: plan.count, streams: plan.streams,
                sessionsPerStream: plan.sessionsPerStream, publishers: plan.publishers,
                checks: plan.checks)
        }

        /// Whether every subscriber's stream has been established.
        var isEstablished: Bool { established == plan.count }

        /// The number of subscribers that read.
        var readers: Int { plan.count - plan.stalled }

        /// Their readings: one of each session of each stream; reading i reads session i
        /// mod `streams`.
        var readings: Range<Int> { 0..<readers * plan.sessionsPerStream }

        /// Opens further connections, as long as fewer than the permitted number wait.
        mutating func openMore(_ poller: borrowing Poller) throws(BenchError) {
            while nextToOpen < plan.count, opening < plan.connectsInFlight {
                try open(nextToOpen, poller)
                nextToOpen += 1
            }
        }

        /// Handles one of this pool's sockets; `buffer` receives the bytes that are read.
        mutating func handle(
            _ ready: Readiness, _ poller: borrowing Poller, _ buffer: inout [UInt8]
        ) throws(BenchError) {
            let index = Int(truncatingIfNeeded: ready.token & 0xFFFF_FFFF)
            if subscribers[index].phase == .connecting, ready.isWritable {
                try connected(index, poller)
            } else if subscribers[index].phase == .stalled {
                try stalledIsClosed(index, poller)
            } else if ready.isReadable {
                try readable(index, poller, &buffer)
            }
        }

        /// Closes one reader's connection at an arbitrary point and resumes its stream.
        ///
        /// Returns false without any effect if the stream has no position to resume from.
        mutating func cut(_ index: Int, _ poller: borrowing Poller) throws(BenchError) -> Bool {
            guard subscribers[index].phase == .streaming, ledger.hasPosition(subscriber: index)
            else {
                return false
            }
            ClientSocket.closeHard(subscribers[index].descriptor)
            try open(index, poller)
            return true
        }

        /// Closes all streams.
        mutating func close() {
            for index in subscribers.indices where subscribers[index].descriptor >= 0 {
                ClientSocket.closeHard(subscribers[index].descriptor)
                subscribers[index].descriptor = -1
                subscribers[index].phase = .closed
            }
        }

        // MARK: Opening

        private mutating func open(
            _ index: Int, _ poller: borrowing Poller
        ) throws(BenchError) {
            let isStalled = index >= readers
            let connectedAt = Clock.now()
            let descriptor = try ClientSocket.connect(
                to: plan.addresses[index % plan.addresses.count], ordinal: index,
                receiveBufferBytes: isStalled ? 1 : nil)
            let wasEstablished = subscribers[index].wasEstablished
            subscribers[index] = Subscriber(
                descriptor: descriptor, phase: .connecting, connectedAt: connectedAt,
                wasEstablished: wasEstablished)
            opening += 1
            try poller.add(descriptor, token: tag | UInt64(index), for: .readingAndWriting)
        }

        private mutating func connected(
            _ index: Int, _ poller: borrowing Poller
        ) throws(BenchError) {
            let descriptor = subscribers[index].descriptor
            let code = ClientSocket.connectError(descriptor)
            guard code == 0 else { throw .system(operation: "connect", code: code) }
            var request: [UInt8] = []
            let values = TemplateValues(
                connection: index, number: index, stream: index % plan.streams,
                sessions: ledger.streams(of: index), mark: nil)
            plan.template.append(to: &request, values, scratch: &scratch)
            appendResume(index, to: &request)
            guard ClientSocket.send(descriptor, request.span, from: 0) == .bytes(request.count)
            else { throw .setup("a subscriber's request did not fit into its socket") }
            subscribers[index].phase = .awaitingHead
            try poller.modify(descriptor, token: tag | UInt64(index), for: .reading)
        }

        /// Adds `Last-Event-ID` before the empty line, so that the request resumes the stream.
        private func appendResume(_ index: Int, to request: inout [UInt8]) {
            guard subscribers[index].wasEstablished, ledger.hasPosition(subscriber: index) else {
                return
            }
            request.removeLast(2)
            request.append(contentsOf: "Last-Event-ID: ".utf8)
            ledger.appendPosition(of: index, to: &request)
            request.append(contentsOf: "\r\n\r\n".utf8)
        }

        // MARK: Reading

        private mutating func readable(
            _ index: Int, _ poller: borrowing Poller, _ buffer: inout [UInt8]
        ) throws(BenchError) {
            guard subscribers[index].descriptor >= 0 else { return }
            switch ClientSocket.receive(subscribers[index].descriptor, into: &buffer) {
            case .wouldBlock:
                return
            case .closed:
                let isInOrder =
                    subscribers[index].phase == .streaming
                    && subscribers[index].reader.endsAtClose
                try ended(index, inOrder: isInOrder, poller)
            case .failed:
                try ended(index, inOrder: false, poller)
            case .bytes(let count):
                switch receive(index, buffer.span.extracting(0..<count)) {
                case .continues: break
                case .ended: try ended(index, inOrder: true, poller)
                case .unusable: try ended(index, inOrder: false, poller)
                }
                if subscribers[index].phase == .streaming, index >= readers {
                    subscribers[index].phase = .stalled
                    let token = tag | UInt64(index)
                    try poller.modify(
                        subscribers[index].descriptor, token: token, for: .nothing)
                }
            }
        }

        private enum Continuation {
            case continues
            case ended
            case unusable
        }

        @inline(__always)
        private mutating func receive(_ index: Int, _ received: Span<UInt8>) -> Continuation {
            ledger.begin(subscriber: index, at: Clock.now())
            var position = 0
            do {
                while true {
                    switch try subscribers[index].reader.next(received, &position) {
                    case .needMore:
                        return .continues
                    case .head(let status):
                        guard status == 200 else {
                            ledger.tally.refused += 1
                            refusal = status
                            return .unusable
                        }
                        subscribers[index].phase = .awaitingFirstBytes
                        if !plan.awaitsFirstBytes { establish(index) }
                    case .body(let range):
                        bytes &+= UInt64(range.count)
                        guard
                            subscribers[index].scanner.scan(
                                received, range: range, into: &ledger)
                        else { throw ResponseFault.headTooLong }
                        if subscribers[index].phase == .awaitingFirstBytes,
                            ledger.hasBegun(subscriber: index)
                        {
                            establish(index)
                        }
                    case .end:
                        return .ended
                    }
                }
            } catch {
                return .unusable
            }
        }

        private mutating func establish(_ index: Int) {
            subscribers[index].phase = .streaming
            opening -= 1
            guard !subscribers[index].wasEstablished else { return }
            subscribers[index].wasEstablished = true
            established += 1
            ramp.record(Clock.now() &- subscribers[index].connectedAt)
        }

        // MARK: Ends

        /// The stream has ended: open it again, unless the session ended or no event ever arrived.
        private mutating func ended(
            _ index: Int, inOrder: Bool, _ poller: borrowing Poller
        ) throws(BenchError) {
            ClientSocket.close(subscribers[index].descriptor)
            subscribers[index].descriptor = -1
            let wasStreaming = subscribers[index].phase == .streaming
            subscribers[index].phase = .closed
            if !wasStreaming { opening -= 1 }
            if !inOrder { ledger.tally.broken += 1 }
            guard wasStreaming else {
                let answer = refusal.map { "was answered with \($0)" } ?? "ended before it began"
                throw .setup("subscriber \(index)'s stream \(answer)")
            }
            guard !ledger.hasEnded(subscriber: index) else { return }
            ledger.tally.resumes += 1
            try open(index, poller)
        }

        private mutating func stalledIsClosed(
            _ index: Int, _ poller: borrowing Poller
        ) throws(BenchError) {
            ClientSocket.close(subscribers[index].descriptor)
            subscribers[index].descriptor = -1
            subscribers[index].phase = .closed
            stalledClosed += 1
            if plan.reopensStalled { try open(index, poller) }
        }
    }
#endif
