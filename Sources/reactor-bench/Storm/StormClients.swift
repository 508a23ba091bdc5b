#if os(Linux)
    import Glibc

    /// All clients of a storm, on one thread; the last is the witness.
    struct StormClients: ~Copyable {
        private struct Socket {
            var descriptor: Int32 = -1
            var isConnected = false
            var connection: StormConnection?
            var ends: UInt64 = 0
        }

        private static let bufferBytes = 65_536
        /// So many are told with a fault.
        private static let rememberedLines = 400

        private var poller: Poller
        private var sockets: [Socket]
        private var buffer = [UInt8](repeating: 0, count: bufferBytes)
        private var random: SeededNumbers
        private var requests: StormRequests
        private var target: (address: Address, host: String)?
        private var witness = StormWitness()
        /// The one that counts in the file, while the server has a journal in memory.
        private var fileWitness = StormWitness()
        private var isFile = false
        /// Counts that were acknowledged.
        private(set) var acknowledged = 0
        private(set) var faults: [String] = []
        private(set) var requestsSent = 0
        private(set) var answers = 0
        private(set) var connectionsMade = 0
        /// First lines of what was sent last.
        private(set) var lines: [String] = []

        init(connections: Int, seed: UInt64) throws(BenchError) {
            poller = try Poller()
            random = SeededNumbers(seed: seed)
            requests = StormRequests(host: "storm", sessions: 1, keptRecords: 1)
            sockets = [Socket](repeating: Socket(), count: connections + 1)
        }

        private var witnessIndex: Int { sockets.count - 1 }

        // MARK: The server comes and goes

        mutating func serverStarted(
            at url: String, sessions: Int, keptRecords: Int, isFile: Bool
        ) throws(BenchError) {
            guard let endpoint = Endpoint(url) else { throw .setup("listens on \(url)?") }
            target = (
                try Address(host: endpoint.host, port: endpoint.port), endpoint.authority
            )
            requests = StormRequests(
                host: endpoint.authority, sessions: sessions, keptRecords: keptRecords)
            self.isFile = isFile
            witness = isFile ? fileWitness : StormWitness()
            witness.serverStarted()
            lines = []
            for index in sockets.indices { try connect(index) }
        }

        /// Nobody connects again, and nobody judges what is cut off.
        mutating func serverIsGone() {
            target = nil
            if isFile { fileWitness = witness }
            for index in sockets.indices where sockets[index].descriptor >= 0 {
                ClientSocket.closeHard(sockets[index].descriptor)
                sockets[index] = Socket()
            }
        }

        /// Whatever the server still sends is read and judged; nothing is sent.
        mutating func serverIsStopping() { target = nil }

        mutating func note(_ fault: String) { faults.append(fault) }

        // MARK: Connections

        private mutating func connect(_ index: Int) throws(BenchError) {
            guard let target, sockets[index].descriptor < 0 else { return }
            let isSmall = Int.random(in: 0..<6, using: &random) == 0
            let descriptor = try ClientSocket.connect(
                to: target.address, ordinal: index, receiveBufferBytes: isSmall ? 2_048 : nil)
            sockets[index] = Socket(descriptor: descriptor)
            try poller.add(descriptor, token: UInt64(index), for: .readingAndWriting)
            connectionsMade += 1
            guard index != witnessIndex else { return }
            let connection = StormConnection(&requests, &random)
            sockets[index].connection = connection
            sockets[index].ends = Clock.now() + connection.nanoseconds
            requestsSent += connection.lines.count
            lines += connection.lines.map { "\(index): \($0.prefix(160))" }
            if lines.count > 2 * Self.rememberedLines {
                lines.removeFirst(lines.count - Self.rememberedLines)
            }
        }

        private mutating func end(_ index: Int) throws(BenchError) {
            let descriptor = sockets[index].descriptor
            guard descriptor >= 0 else { return }
            answers += sockets[index].connection?.answers ?? 0
            if sockets[index].connection?.ending == .reset {
                ClientSocket.closeHard(descriptor)
            } else {
                ClientSocket.close(descriptor)
            }
            sockets[index] = Socket()
            try connect(index)
        }

        private mutating func send(_ index: Int) throws(BenchError) {
            guard let connection = sockets[index].connection else { return }
            let due = connection.due
            guard !due.isEmpty else { return }
            let descriptor = sockets[index].descriptor
            let bytes = connection.bytes
            let outcome = ClientSocket.send(
                descriptor, bytes.span.extracting(0..<due.upperBound), from: due.lowerBound)
            switch outcome {
            case .bytes(let count): sockets[index].connection?.sent += count
            case .wouldBlock: break
            // It may have answered all the same: the reading tells.
            case .closed, .failed: sockets[index].connection?.sent = connection.bytes.count
            }
            guard sockets[index].connection?.isSent == true else { return }
            if connection.ending == .shutDown { shutdown(descriptor, Int32(SHUT_WR)) }
            try poller.modify(
                descriptor, token: UInt64(index),
                for: connection.reading == .all ? .reading : .nothing)
        }

        // MARK: Turns

        /// Handles what is ready, once; ends whose time has come.
        mutating func turn(until deadline: UInt64) throws(BenchError) {
            let count = try poller.wait(until: deadline)
            for position in 0..<count {
                let ready = poller.ready(position)
                let index = Int(ready.token)
                guard sockets[index].descriptor >= 0 else { continue }
                if !sockets[index].isConnected {
                    try connected(index)
                    continue
                }
                if ready.isReadable, try !receive(index) { continue }
                if ready.isWritable { try send(index) }
            }
            let now = Clock.now()
            for index in sockets.indices.dropLast() {
                guard sockets[index].descriptor >= 0, let connection = sockets[index].connection
                else {
                    try connect(index)
                    continue
                }
                // The witness has time; they have what they were given, or what they came for.
                if now >= sockets[index].ends || connection.hasAllAnswers { try end(index) }
            }
            try connect(witnessIndex)
        }

        private mutating func connected(_ index: Int) throws(BenchError) {
            let descriptor = sockets[index].descriptor
            guard ClientSocket.connectError(descriptor) == 0 else {
                ClientSocket.close(descriptor)
                sockets[index] = Socket()
                return
            }
            sockets[index].isConnected = true
            guard index == witnessIndex else { return try send(index) }
            try poller.modify(descriptor, token: UInt64(index), for: .reading)
            ask()
        }

        private mutating func ask() {
            guard let host = target?.host else { return }
            // Far smaller than a socket's buffer; a socket that is gone is told of by reading.
            let bytes = witness.request(host: host)
            _ = ClientSocket.send(sockets[witnessIndex].descriptor, bytes.span, from: 0)
            requestsSent += 1
        }

        /// False if the connection is over.
        private mutating func receive(_ index: Int) throws(BenchError) -> Bool {
            switch ClientSocket.receive(sockets[index].descriptor, into: &buffer) {
            case .wouldBlock: return true
            case .closed, .failed:
                try end(index)
                return false
            case .bytes(let count):
                var received: [UInt8] = []
                swap(&received, &buffer)
                defer { swap(&received, &buffer) }
                let bytes = received.span.extracting(0..<count)
                guard index == witnessIndex else {
                    read(index, bytes)
                    return true
                }
                let before = witness.acknowledged
                if witness.receive(bytes, &faults) { ask() }
                acknowledged += witness.acknowledged - before
                return true
            }
        }

        private mutating func read(_ index: Int, _ bytes: Span<UInt8>) {
            guard var connection = sockets[index].connection else { return }
            var told: [String] = []
            let fault = connection.receive(bytes) { told.append($0) }
            for position in told { requests.learn(position, of: connection.session) }
            if let fault { faults.append(fault) }
            sockets[index].connection = connection
        }
    }
#endif
