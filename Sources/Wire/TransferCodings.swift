/// The transfer codings of a message (RFC 9112 §6.1, §7).
enum TransferCodings {
    /// `chunked` and nothing else.
    case chunked
    /// An empty element, a parameter on chunked, chunked twice, or no list at all.
    case malformed
    /// The last coding is not chunked, so that the length is unknown.
    case notFinal
    /// chunked is last, but an unimplemented coding precedes it.
    case unknown

    init(_ fields: FieldTable, in bytes: Span<UInt8>) {
        var chunkedCount = 0
        var others = 0
        var endsInChunked = false
        for entry in fields.entries where entry.known == .transferEncoding {
            var elements = ListElements(entry.value)
            while let element = elements.next(in: bytes) {
                guard let first = element.first, ByteClass.token.contains(bytes[first]) else {
                    self = .malformed
                    return
                }
                endsInChunked = bytes.equals("chunked", in: element, ignoringCase: true)
                if endsInChunked {
                    chunkedCount += 1
                } else if element.count > 7,
                    bytes.equals("chunked", in: element.prefix(7), ignoringCase: true),
                    !ByteClass.token.contains(bytes[element.lowerBound + 7])
                {
                    // RFC 9112 §7.1: chunked has no parameters; their presence is an error.
                    self = .malformed
                    return
                } else {
                    others += 1
                }
            }
        }
        if chunkedCount > 1 {
            self = .malformed
        } else if !endsInChunked {
            self = .notFinal
        } else {
            self = others == 0 ? .chunked : .unknown
        }
    }
}

/// The elements of a comma-separated value, white space trimmed; an empty value has one empty
/// element (RFC 9110 §5.6.1). Quoted strings are not parsed: no field that is read here has any.
struct ListElements {
    private var start: Int?
    private let end: Int

    init(_ value: Range<Int>) {
        start = value.lowerBound
        end = value.upperBound
    }

    mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
        guard var low = start else { return nil }
        var high = bytes.first(0x2c, in: low..<end) ?? end
        start = high < end ? high + 1 : nil
        while low < high, ByteClass.isSpace(bytes[low]) { low += 1 }
        while high > low, ByteClass.isSpace(bytes[high - 1]) { high -= 1 }
        return low..<high
    }
}

extension FieldTable {
    /// Whether a list field contains this element, ignoring case.
    func lists(_ field: KnownField, _ lowercase: StaticString, in bytes: Span<UInt8>) -> Bool {
        for entry in entries where entry.known == field {
            var elements = ListElements(entry.value)
            while let element = elements.next(in: bytes) {
                if bytes.equals(lowercase, in: element, ignoringCase: true) { return true }
            }
        }
        return false
    }
}
