// Requesters: keep-alive connections with a bounded number of requests in flight each. Closed loop:
// a response lets its connection send the next request. Open loop (`rate`): requests become due by
// the clock. A due request without a free connection waits, and its wait counts as latency. This
// shows an effect that a closed loop hides: a slow server slows down its own load.
#if os(Linux)
    import Glibc

    /// Sends requests over many connections and counts the responses.
    struct RequestPool: ~Copyable {
        private struct Requester {
            var descriptor: Int32 = -1
            var isConnecting = false
            var isWaitingToWrite = false
            var reader = ResponseReader()
            var status = 0
            /// The number of requests in flight, and the slot of the oldest one.
            var inFlight = 0
            var oldest = 0
            var turn = 0
            /// The bytes that did not fit into the socket buffer.
            var unsent: [UInt8] = []
        }

        private struct Slot {
            var since: UInt64 = 0
            var stream: Int32 = 0
        }

        /// Distinguishes this pool's events from those of other pools of the poller.
        let tag: UInt64
        private let plan: RequestPlan
        private let address: Address
        private var requesters: [Requester]
        private var slots: [Slot]
        private var outgoing: [UInt8] = []
        private var scratch: [UInt8] = []
        private var idle: [Int32] = []
        private var nextDue: UInt64 = 0
        private var isStopped = true

        /// The counts.
        var tally = RequestTally()
        /// The number of requests sent since the beginning.
        private(set) var sent = 0
        /// The number of requests in flight.
        private(set) var inFlight = 0
        /// The number of accepted requests of each stream since the beginning.
        private(set) var acceptedPerStream: [UInt64]
        /// The next sequence number of each publisher on each stream: publisher × streams + stream.
        private(set) var sequences: [UInt32]

        /// A pool that is not connected yet. `tag` must differ from other pools' of the poller.
        init(_ plan: RequestPlan, to address: Address, tag: UInt64) {
            self.plan = plan
            self.address = address
            self.tag = tag << 32
            requesters = [Requester](repeating: Requester(), count: plan.connections)
            slots = [Slot](repeating: Slot(), count: plan.connections * plan.depth)
            acceptedPerStream = [UInt64](repeating: 0, count: plan.streams)
            let isMarked = plan.templates.contains { $0.isMarked }
            let marked = isMarked ? plan.connections * plan.streams : 0
            sequences = [UInt32](repeating: 0, count: marked)
        }

        /// Whether all requests were sent and answered.
        var isDone: Bool { inFlight == 0 && (isStopped || sent >= plan.limit) }

        /// Opens all connections that are not open; nothing is sent.
        mutating func open(_ poller: borrowing Poller) throws(BenchError) {
            for index in requesters.indices where requesters[index].descriptor < 0 {
                try connect(index, poller)
            }
        }

        /// Starts to send requests.
        mutating func start(_ poller: borrowing Poller) throws(BenchError) {
            try open(poller)
            isStopped = false
            nextDue = Clock.now()
            for index in requesters.indices where !requesters[index].isConnecting {
                try ready(index, poller)
            }
        }

        /// Sends no more requests; those in flight are still counted.
        mutating func stop() {
            isStopped = true
        }

        /// Closes all connections.
        mutating func close() {
            for index in requesters.indices where requesters[index].descriptor >= 0 {
                ClientSocket.closeHard(requesters[index].descriptor)
                requesters[index].descriptor = -1
            }
        }

        /// The time until which the loop may sleep as far as this pool is concerned.
        var wakeTime: UInt64 {
            plan.rate == nil || isStopped || idle.isEmpty || sent >= plan.limit ? .max : nextDue
        }

        /// Sends the requests that are due in an open loop.
        mutating func pump(_ poller: borrowing Poller) throws(BenchError) {
            guard let rate = plan.rate, !isStopped else { return }
            let now = Clock.now()
            while nextDue <= now, sent < plan.limit, let index = idle.popLast() {
                append(Int(index), since: nextDue)
                nextDue += UInt64(1_000_000_000 / rate)
                try flush(Int(index), poller)
            }
        }

        /// Handles one of this pool's sockets; `buffer` receives the bytes that are read.
        mutating func handle(
            _ ready: Readiness, _ poller: borrowing Poller, _ buffer: inout [UInt8]
        ) throws(BenchError) {
            let index = Int(truncatingIfNeeded: ready.token & 0xFFFF_FFFF)
            if ready.isWritable, requesters[index].isWaitingToWrite {
                try writable(index, poller)
            }
            if ready.isReadable, !requesters[index].isConnecting {
                try readable(index, poller, &buffer)
            }
        }

        /// Closes one connection in any state and opens it again, like a client that vanished.
        mutating func abandon(
            _ index: Int, _ poller: borrowing Poller
        ) throws(BenchError) {
            guard requesters[index].descriptor >= 0 else { return }
            inFlight -= requesters[index].inFlight
            requesters[index].inFlight = 0
            try reconnect(index, poller)
        }

        // MARK: Connections

        private mutating func connect(
            _ index: Int, _ poller: borrowing Poller
        ) throws(BenchError) {
            let descriptor = try ClientSocket.connect(to: address, ordinal: index)
            requesters[index] = Requester()
            requesters[index].descriptor = descriptor
            requesters[index].isConnecting = true
            requesters[index].isWaitingToWrite = true
            try poller.add(descriptor, token: tag | UInt64(index), for: .readingAndWriting)
        }

        private mutating func writable(
            _ index: Int, _ poller: borrowing Poller
        ) throws(BenchError) {
            let descriptor = requesters[index].descriptor
            if requesters[index].isConnecting {
                let code = ClientSocket.connectError(descriptor)
                guard code == 0 else { throw .system(operation: "connect", code: code) }
                requesters[index].isConnecting = false
            }
            requesters[index].isWaitingToWrite = false
            try poller.modify(descriptor, token: tag | UInt64(index), for: .reading)
            if requesters[index].unsent.isEmpty {
                if !isStopped { try ready(index, poller) }
            } else {
                swap(&outgoing, &requesters[index].unsent)
                try flush(index, poller)
            }
        }

        private mutating func reconnect(
            _ index: Int, _ poller: borrowing Poller
        ) throws(BenchError) {
            ClientSocket.close(requesters[index].descriptor)
            let lost = requesters[index].inFlight
            tally.lost += UInt64(lost)
            inFlight -= lost
            tally.reconnects += 1
            if plan.rate != nil { idle.removeAll { $0 == Int32(index) } }
            let turn = requesters[index].turn
            try connect(index, poller)
            requesters[index].turn = turn
        }

        // MARK: Sending

        /// The connection is free: send requests (closed loop) or mark it as idle (open loop).
        private mutating func ready(
            _ index: Int, _ poller: borrowing Poller
        ) throws(BenchError) {
            if plan.rate != nil {
                if requesters[index].inFlight == 0 { idle.append(Int32(index)) }
                return
            }
            let now = Clock.now()
            while requesters[index].inFlight < plan.depth, sent < plan.limit {
                append(index, since: now)
            }
            try flush(index, poller)
        }

        @inline(__always)
        private mutating func append(_ index: Int, since: UInt64) {
            var values = TemplateValues(connection: index, number: sent, stream: 0, mark: nil)
            switch plan.choice {
            case .perConnection: values.stream = index % plan.streams
            case .rotating: values.stream = (index + requesters[index].turn) % plan.streams
            case .sequential: values.stream = sent % plan.streams
            }
            requesters[index].turn &+= 1
            if !sequences.isEmpty {
                let entry = index * plan.streams + values.stream
                values.mark = Mark(
                    microseconds: UInt32(truncatingIfNeeded: since / 1000),
                    publisher: UInt16(truncatingIfNeeded: index), sequence: sequences[entry])
                sequences[entry] &+= 1
            }
            let template = plan.templates.count == 1 ? 0 : sent % plan.templates.count
            plan.templates[template].append(to: &outgoing, values, scratch: &scratch)
            let position = (requesters[index].oldest + requesters[index].inFlight) % plan.depth
            slots[index * plan.depth + position] = Slot(
                since: since, stream: Int32(truncatingIfNeeded: values.stream))
            requesters[index].inFlight += 1
            inFlight += 1
            sent += 1
        }

        private mutating func flush(
            _ index: Int, _ poller: borrowing Poller
        ) throws(BenchError) {
            guard !outgoing.isEmpty else { return }
            defer { outgoing.removeAll(keepingCapacity: true) }
            var start = 0
            switch ClientSocket.send(requesters[index].descriptor, outgoing.span, from: 0) {
            case .bytes(let count): start = count
            case .wouldBlock: break
            // The read side reports the end of the connection, with the responses before it.
            case .closed, .failed: return
            }
            guard start < outgoing.count else { return }
            requesters[index].unsent = Array(outgoing[start...])
            requesters[index].isWaitingToWrite = true
            try poller.modify(
                requesters[index].descriptor, token: tag | UInt64(index),
                for: .readingAndWriting)
        }

        // MARK: Receiving

        private mutating func readable(
            _ index: Int, _ poller: borrowing Poller, _ buffer: inout [UInt8]
        ) throws(BenchError) {
            switch ClientSocket.receive(requesters[index].descriptor, into: &buffer) {
            case .wouldBlock:
                return
            case .closed, .failed:
                if requesters[index].reader.endsAtClose { complete(index, at: Clock.now()) }
                try reconnect(index, poller)
            case .bytes(let count):
                let isUsable = receive(index, buffer.span.extracting(0..<count))
                guard isUsable else { return try reconnect(index, poller) }
                if !isStopped, !requesters[index].isWaitingToWrite {
                    try ready(index, poller)
                }
            }
        }

        /// Parses received bytes; returns false when the connection cannot be used any longer.
        @inline(__always)
        private mutating func receive(_ index: Int, _ bytes: Span<UInt8>) -> Bool {
            let now = Clock.now()
            var position = 0
            do {
                while true {
                    switch try requesters[index].reader.next(bytes, &position) {
                    case .needMore: return true
                    case .body: break
                    case .head(let status): requesters[index].status = status
                    case .end:
                        // A response without a request (408 on an idle connection, say).
                        guard requesters[index].inFlight > 0 else { return false }
                        complete(index, at: now)
                        if requesters[index].reader.closes { return false }
                    }
                }
            } catch {
                tally.faults += 1
                return false
            }
        }

        @inline(__always)
        private mutating func complete(_ index: Int, at now: UInt64) {
            let slot = slots[index * plan.depth + requesters[index].oldest]
            requesters[index].oldest = (requesters[index].oldest + 1) % plan.depth
            requesters[index].inFlight -= 1
            inFlight -= 1
            let status = requesters[index].status
            let isExpected =
                plan.expected.isEmpty ? status / 100 == 2 : plan.expected.contains(status)
            guard isExpected else {
                tally.refused += 1
                tally.statuses[status, default: 0] += 1
                return
            }
            tally.accepted += 1
            acceptedPerStream[Int(slot.stream)] += 1
            tally.latency.record(now &- slot.since)
        }
    }
#endif
