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
    /// The transfer coding of a message (RFC 9112 §6.1, §7).
    ///
    /// - Throws: If it is not `chunked` and nothing else.
    func requireChunked(in bytes: Span<UInt8>) throws(RequestRefusal) {
        var (chunkedCount, others, endsInChunked) = (0, 0, false)
        for entry in entries where entry.known == .transferEncoding {
            var elements = ListElements(entry.value)
            while let element = elements.next(in: bytes) {
                guard let first = element.first, ByteClass.token.contains(bytes[first]) else {
                    throw .malformedTransferEncoding
                }
                endsInChunked = bytes.equals("chunked", in: element, ignoringCase: true)
                if endsInChunked {
                    chunkedCount += 1
                } else if element.count > 7,
                    bytes.equals("chunked", in: element.prefix(7), ignoringCase: true),
                    !ByteClass.token.contains(bytes[element.lowerBound + 7])
                {
                    // RFC 9112 §7.1: chunked has no parameters; their presence is an error.
                    throw .malformedTransferEncoding
                } else {
                    others += 1
                }
            }
        }
        guard chunkedCount <= 1 else { throw .malformedTransferEncoding }
        guard endsInChunked else { throw .chunkedNotFinal }
        guard others == 0 else { throw .unknownTransferCoding }
    }

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
