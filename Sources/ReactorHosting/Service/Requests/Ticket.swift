internal import Wire

/// 128 random bits that stand for a client's token in the query of one stream's request: EventSource
/// cannot send `Authorization` (ADR-0033).
///
/// It is a secret: it is in no log line, in no metric and in no response but the one that makes it.
struct Ticket: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// A new one, from the system's random source.
    init() {
        var randomness = SystemRandomNumberGenerator()
        high = randomness.next()
        low = randomness.next()
    }

    /// Nil unless the bytes are 32 hexadecimal digits in lower case, as in ``text``.
    init?(_ digits: some Collection<UInt8>) {
        guard digits.count == 32 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for (index, digit) in digits.enumerated() {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            if index < 16 {
                words.0 = words.0 << 4 | UInt64(value)
            } else {
                words.1 = words.1 << 4 | UInt64(value)
            }
        }
        (high, low) = words
    }

    /// 32 hexadecimal digits.
    var text: String { Self.digits(high) + Self.digits(low) }

    private static func digits(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

// The query `?ticket=`.
extension Ticket {
    /// The value of the item `ticket` in a query; nil without one. Only the plain name and plain digits
    /// count: a ticket needs no escapes.
    ///
    /// - Throws: 400 for two of them.
    static func find(in head: RequestHead) throws(Problem) -> ArraySlice<UInt8>? {
        guard let query = head.query else { return nil }
        var found: ArraySlice<UInt8>?
        var start = query.lowerBound
        while start < query.upperBound {
            let rest = head.bytes[start..<query.upperBound]
            let end = rest.firstIndex(of: UInt8(ascii: "&")) ?? query.upperBound
            if let value = value(of: rest[..<end]) {
                guard found == nil else { throw .ticketRepeated }
                found = value
            }
            start = end + 1
        }
        return found
    }

    private static let name = Array("ticket".utf8)

    /// Nil for an item of another name.
    private static func value(of item: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard item.starts(with: name) else { return nil }
        let rest = item.dropFirst(name.count)
        guard let equals = rest.first else { return rest }
        return equals == UInt8(ascii: "=") ? rest.dropFirst() : nil
    }
}

/// The reason why a ticket does not open a stream.
enum TicketFault {
    case malformed
    /// It was not made by this process, has expired, or made room for newer ones.
    case unknown
    /// It was made for another stream, or has opened one with another query.
    case elsewhere
}
