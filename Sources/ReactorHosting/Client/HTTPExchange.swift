internal import Sockets
internal import Wire

/// A request of ``HTTPExchange``.
struct PlainRequest: Sendable {
    var method: String
    /// The path and the query, percent-encoded.
    var target: String
    var fields: [(name: String, value: String)] = []
    /// JSON; nil for none.
    var body: [UInt8]?

    init(_ target: String, method: String = "GET", body: [UInt8]? = nil) {
        self.method = method
        self.target = target
        self.body = body
    }

    fileprivate var bytes: [UInt8] {
        var fields = fields + [("Connection", "close")]
        if let body {
            fields += [("Content-Type", "application/json"), ("Content-Length", "\(body.count)")]
        }
        return Array("\(method) \(target) HTTP/1.1\r\n".utf8) + FieldLines(fields).bytes
            + Array("\r\n".utf8) + (body ?? [])
    }
}

/// A request and its response, on a connection of its own. It blocks: for a command, never on a
/// loop.
struct HTTPExchange: ~Copyable {
    let head: ResponseHead
    private let connection: PlainConnection
    private var reader: ResponseReader

    /// Sends the request, and waits for the head of the response.
    ///
    /// - Parameters:
    ///   - timeout: The longest silence of the peer; whole seconds, at least 1.
    ///   - bodyLimitBytes: The most that ``body()`` returns, and a chunk may have. Default 64 MiB.
    init(
        _ request: PlainRequest, at address: ListenAddress, timeout: Duration,
        bodyLimitBytes: Int = 67_108_864
    ) throws(ExchangeFailure) {
        let connection = try Self.connect(to: address, timeout)
        var unsent: SystemFailure?
        // A server that refuses a body may answer and close before it has read all of it.
        do { try connection.send(request.bytes) } catch { unsent = error }
        var reader = ResponseReader(bodyLimitBytes: bodyLimitBytes)
        while reader.head == nil {
            do throws(ExchangeFailure) {
                try Self.receive(from: connection, into: &reader)
            } catch {
                if case .lost = error, let unsent { throw .lost(unsent) }
                throw error
            }
        }
        guard let head = reader.head else { throw .lost(nil) }
        self.head = head
        self.reader = reader
        self.connection = connection
    }

    /// The next bytes of the body, as they arrive; nil after the last.
    mutating func next() throws(ExchangeFailure) -> [UInt8]? {
        while true {
            let bytes = reader.takeBody()
            if !bytes.isEmpty { return bytes }
            if reader.isComplete { return nil }
            try Self.receive(from: connection, into: &reader)
        }
    }

    /// The whole body, without line breaks at its end.
    mutating func body() throws(ExchangeFailure) -> [UInt8] {
        while !reader.isComplete { try Self.receive(from: connection, into: &reader) }
        var body = reader.takeBody()
        while let last = body.last, [0x0a, 0x0d].contains(last) { body.removeLast() }
        return body
    }

    private static func connect(
        to address: ListenAddress, _ timeout: Duration
    ) throws(ExchangeFailure) -> PlainConnection {
        do throws(SystemFailure) {
            return try PlainConnection(to: address, timeout: timeout)
        } catch {
            throw .unreachable(error)
        }
    }

    private static func receive(
        from connection: borrowing PlainConnection, into reader: inout ResponseReader
    ) throws(ExchangeFailure) {
        let bytes: [UInt8]
        do throws(SystemFailure) {
            bytes = try connection.receive()
        } catch {
            throw .lost(error)
        }
        do throws(RequestRefusal) {
            if !bytes.isEmpty { return try reader.receive(bytes.span) }
        } catch {
            throw .unusable("the response cannot be read: \(error.detail)")
        }
        guard reader.finish() else { throw .lost(nil) }
    }
}
