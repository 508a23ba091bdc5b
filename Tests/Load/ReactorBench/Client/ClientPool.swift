#if os(Linux)
    import Glibc

    /// Where a server listens.
    struct ServerTarget {
        let address: Address
        /// For the `Host` field.
        let host: String

        init(_ url: String) throws(BenchError) {
            guard let endpoint = Endpoint(url) else { throw .setup("listens on \(url)?") }
            address = try Address(host: endpoint.host, port: endpoint.port)
            host = endpoint.authority
        }
    }

    /// The connections of a run to one server, on one thread. The pool sends, receives and parses;
    /// its driver decides on requests and judges responses.
    struct ClientPool: ~Copyable {
        struct Connection {
            fileprivate var descriptor: Int32 = -1
            /// The value of the `Host` field.
            fileprivate(set) var host = ""
            /// The generation of the connection in this slot. Events of an earlier one are ignored.
            fileprivate var serial: UInt32 = 0
            fileprivate(set) var isConnected = false
            fileprivate var response = ResponseReader(isStrict: true)
            fileprivate var unsent: [UInt8] = []
            fileprivate var sent = 0
            /// The maximum number of bytes per send.
            var piece = Int.max
            /// Whether the client reads. If it does not, the server must buffer or drop its
            /// responses.
            var reads = true
            /// Whether the sending side is closed after all bytes are sent.
            var closesSending = false
            /// The maximum length of a collected body; nil: the driver receives each piece.
            var gathers: Int? = ClientPool.gatheredBytes
            /// The status of the response that is being read, or was read last.
            fileprivate(set) var status = 0
            fileprivate(set) var body: [UInt8] = []
            /// The number of requests without a response.
            fileprivate(set) var outstanding = 0

            var isOpen: Bool { descriptor >= 0 }
            var isSent: Bool { sent == unsent.count }
            /// Whether the server closes the connection after the response that is being read.
            var closes: Bool { response.closes }
            /// Whether the response says that it may be old (RFC 9111 §5.1).
            var hasAge: Bool { response.hasAge }
        }

        /// The default limit of a collected body.
        static let gatheredBytes = 65_536
        private static let bufferBytes = 262_144

        private var poller: Poller
        private(set) var connections: [Connection]
        private var memories: [ClientMemory]
        private var buffer = [UInt8](repeating: 0, count: bufferBytes)
        /// Nil while the server is down or stopping: then no connection is opened.
        private(set) var target: ServerTarget?
        private(set) var connectionsMade = 0
        private(set) var requestsSent = 0
        private(set) var answers = 0

        init(connections count: Int) throws(BenchError) {
            poller = try Poller()
            connections = [Connection](repeating: Connection(), count: count)
            memories = [ClientMemory](repeating: ClientMemory(), count: count)
        }

        /// Adds a slot for a connection.
        mutating func addConnection() {
            connections.append(Connection())
            memories.append(ClientMemory())
        }

        /// The value of the `Host` field; empty while there is no server.
        var host: String { target?.host ?? "" }

        /// Whether the driver names a server for each connection.
        var hasSeveralServers = false

        /// Whether there is a server for further requests.
        var acceptsRequests: Bool { target != nil || hasSeveralServers }

        // MARK: The server comes and goes

        mutating func serverStarted(at url: String) throws(BenchError) {
            target = try ServerTarget(url)
            for index in memories.indices { memories[index].record("the server is another") }
        }

        /// Opens no more connections; established ones are still read.
        mutating func serverIsStopping() { target = nil }

        /// Closes all connections without notifying the driver.
        mutating func serverIsGone() {
            target = nil
            for index in connections.indices { close(index, hard: true) }
        }

        // MARK: Connections

        /// Starts to connect, if the slot is free and there is a server.
        ///
        /// - Parameter other: The server, where a pool connects to several. Default: ``target``.
        mutating func open(
            _ index: Int, to other: ServerTarget? = nil, receiveBufferBytes: Int? = nil
        ) throws(BenchError) {
            guard let target = other ?? target, !connections[index].isOpen else { return }
            let descriptor = try ClientSocket.connect(
                to: target.address, ordinal: index, receiveBufferBytes: receiveBufferBytes)
            let serial = connections[index].serial &+ 1
            connections[index] = Connection()
            connections[index].descriptor = descriptor
            connections[index].host = target.host
            connections[index].serial = serial
            let token = UInt64(serial) << 32 | UInt64(index)
            try poller.add(descriptor, token: token, for: .readingAndWriting)
            connectionsMade += 1
            memories[index].record("connects")
        }

        mutating func close(_ index: Int, hard: Bool = false) {
            guard connections[index].isOpen else { return }
            if hard {
                ClientSocket.closeHard(connections[index].descriptor)
            } else {
                ClientSocket.close(connections[index].descriptor)
            }
            connections[index].descriptor = -1
            connections[index].isConnected = false
            connections[index].outstanding = 0
            memories[index].record(hard ? "resets" : "closes")
        }

        /// Sets how a connection behaves; call it before the connection is established.
        mutating func behave(_ index: Int, _ change: (inout Connection) -> Void) {
            change(&connections[index])
        }

        /// Sends bytes that contain `requests` requests, as soon as the kernel accepts them.
        mutating func send(
            _ index: Int, _ bytes: [UInt8], requests: Int = 1
        ) throws(BenchError) {
            guard connections[index].isConnected else { return }
            memories[index].sent(bytes)
            requestsSent += requests
            connections[index].outstanding += requests
            if connections[index].isSent {
                connections[index].unsent = bytes
                connections[index].sent = 0
            } else {
                connections[index].unsent += bytes
            }
            try flush(index)
        }

        private mutating func flush(_ index: Int) throws(BenchError) {
            let start = connections[index].sent
            let unsent = connections[index].unsent
            let piece = connections[index].piece
            let end = piece < unsent.count - start ? start + piece : unsent.count
            if start < end {
                let outcome = ClientSocket.send(
                    connections[index].descriptor, unsent.span.extracting(0..<end), from: start)
                switch outcome {
                case .bytes(let count): connections[index].sent += count
                case .wouldBlock: break
                // The server may have responded nevertheless: the read side shows it.
                case .closed, .failed: connections[index].sent = unsent.count
                }
            }
            let isSent = connections[index].isSent
            if isSent, connections[index].closesSending {
                shutdown(connections[index].descriptor, Int32(SHUT_WR))
            }
            try watch(index)
        }

        private func watch(_ index: Int) throws(BenchError) {
            let connection = connections[index]
            let token = UInt64(connection.serial) << 32 | UInt64(index)
            let interest: Poller.Interest =
                switch (connection.reads, connection.isSent) {
                case (true, true): .reading
                case (true, false): .readingAndWriting
                case (false, true): .nothing
                case (false, false): .writing
                }
            try poller.modify(connection.descriptor, token: token, for: interest)
        }

        // MARK: Turns

        /// Handles the ready sockets once.
        mutating func turn(
            until deadline: UInt64, _ driver: inout some ClientDriver
        ) throws(BenchError) {
            let count = try poller.wait(until: deadline)
            for position in 0..<count {
                let ready = poller.ready(position)
                let index = Int(ready.token & 0xFFFF_FFFF)
                let serial = UInt32(ready.token >> 32)
                guard isCurrent(index, serial) else { continue }
                if !connections[index].isConnected {
                    try connected(index, &driver)
                    continue
                }
                if !connections[index].reads, connections[index].isSent {
                    // The connection waits for no readiness, so the wake-up reports its end.
                    try lose(index, .failed, &driver)
                    continue
                }
                if ready.isReadable, connections[index].reads { try receive(index, &driver) }
                if ready.isWritable, isCurrent(index, serial), !connections[index].isSent {
                    try flush(index)
                }
            }
        }

        private func isCurrent(_ index: Int, _ serial: UInt32) -> Bool {
            connections[index].isOpen && connections[index].serial == serial
        }

        private mutating func connected(
            _ index: Int, _ driver: inout some ClientDriver
        ) throws(BenchError) {
            guard ClientSocket.connectError(connections[index].descriptor) == 0 else {
                return try lose(index, .refused, &driver)
            }
            connections[index].isConnected = true
            try watch(index)
            try driver.connected(index, &self)
        }

        private mutating func lose(
            _ index: Int, _ loss: ClientLoss, _ driver: inout some ClientDriver
        ) throws(BenchError) {
            memories[index].record("\(loss)")
            close(index)
            try driver.lost(index, loss, &self)
        }

        private mutating func receive(
            _ index: Int, _ driver: inout some ClientDriver
        ) throws(BenchError) {
            switch ClientSocket.receive(connections[index].descriptor, into: &buffer) {
            case .wouldBlock: return
            case .failed: try lose(index, .failed, &driver)
            case .closed:
                if connections[index].response.endsAtClose { try answered(index, &driver) }
                guard connections[index].isOpen else { return }
                let inAnswer = !connections[index].response.isBetweenResponses
                let isTorn = inAnswer && !connections[index].response.endsAtClose
                try lose(index, .closed(inAnswer: isTorn), &driver)
            case .bytes(let count):
                // Taken out of the pool, so that the driver can change the pool while the bytes are
                // read.
                var received: [UInt8] = []
                swap(&received, &buffer)
                defer { swap(&received, &buffer) }
                try receive(index, received.span.extracting(0..<count), &driver)
            }
        }

        private mutating func receive(
            _ index: Int, _ bytes: Span<UInt8>, _ driver: inout some ClientDriver
        ) throws(BenchError) {
            let serial = connections[index].serial
            var position = 0
            while isCurrent(index, serial) {
                let step: ResponseStep
                do throws(ResponseFault) {
                    step = try connections[index].response.next(bytes, &position)
                } catch {
                    return try lose(index, .unreadable(error), &driver)
                }
                switch step {
                case .needMore: return
                case .head(let status):
                    connections[index].status = status
                    connections[index].body.removeAll(keepingCapacity: true)
                    try driver.began(index, &self)
                case .body(let range):
                    guard let limit = connections[index].gathers else {
                        driver.read(index, bytes, range, &self)
                        continue
                    }
                    let room = max(0, limit - connections[index].body.count)
                    connections[index].body.append(bytes, in: range.prefix(room))
                case .end: try answered(index, &driver)
                }
            }
        }

        private mutating func answered(
            _ index: Int, _ driver: inout some ClientDriver
        ) throws(BenchError) {
            answers += 1
            connections[index].outstanding = max(0, connections[index].outstanding - 1)
            memories[index].answered(connections[index].status, connections[index].body)
            try driver.answered(index, &self)
        }

        // MARK: What was sent

        /// The last requests and responses of these connections, oldest first.
        borrowing func recollection(of places: [Int]) -> [String] {
            places.filter(memories.indices.contains).flatMap { index in
                memories[index].lines.map { "\(index): \($0)" }
            }
        }
    }
#endif
