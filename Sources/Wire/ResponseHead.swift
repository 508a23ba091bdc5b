/// The head of a response, as a client parses it (RFC 9112 §4).
package struct ResponseHead: Sendable {
    /// The head as it was sent, to the empty line.
    package internal(set) var bytes: [UInt8] = []
    /// 100…999.
    package internal(set) var status = 0
    /// 0 or 1.
    package internal(set) var minorVersion = 1
    /// Whether the connection can carry another exchange after this one (RFC 9112 §9.3).
    package internal(set) var keepsAlive = false
    package internal(set) var body = ResponseBodyLength.none
    var reasonRange = 0..<0
    var fields = FieldTable()

    package init() {}

    /// The reason phrase, which may be empty.
    package var reason: String { text(reasonRange) }

    /// The value of the first field line with that name, ignoring case; nil if there is none.
    package func value(_ name: String) -> String? {
        values(name).first
    }

    /// The values of all field lines with that name, in their order.
    package func values(_ name: String) -> [String] {
        let wanted = name.lowercased()
        return fields.entries.filter { text($0.name).lowercased() == wanted }.map {
            text($0.value)
        }
    }

    /// All field lines, in their order.
    package var fieldLines: [(name: String, value: String)] {
        fields.entries.map { (text($0.name), text($0.value)) }
    }

    /// Removes the response and keeps the memory.
    package mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        fields.reset()
        status = 0
        minorVersion = 1
        keepsAlive = false
        body = .none
        reasonRange = 0..<0
    }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }
}

/// The length of a response's body (RFC 9112 §6.3).
package enum ResponseBodyLength: Sendable, Equatable {
    case none
    /// Content-Length bytes.
    case sized(Int)
    case chunked
    /// The body ends with the connection.
    case untilClose
}

/// The reason why a response cannot be parsed.
package enum ResponseFailure: Error, Sendable, Equatable {
    case malformedStatusLine
    case headTooLarge(limit: Int)
    case field(FieldFault)
    /// Content-Length is not a number, has different values, or is combined with Transfer-Encoding.
    case malformedLength
    /// A transfer coding other than chunked.
    case unknownTransferCoding
    case chunk(ChunkFault)
    /// The connection ended before the response did.
    case truncated
    /// The status is 101, although the client did not request another protocol.
    case unexpectedUpgrade
}
