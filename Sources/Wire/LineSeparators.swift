/// Escapes line separators beyond ASCII in the data of an event: U+0085, U+2028 and U+2029.
///
/// Why: only CR and LF end a line of an event stream (HTML §9.2.6). But common clients split the
/// text with functions that know more line ends, such as Python's `str.splitlines`.
///
/// In JSON these characters occur in strings only, where an escape means the same (RFC 8259 §7).
package enum LineSeparators {
    /// The same JSON without the separators. Nearly always the bytes themselves, after one
    /// look at them.
    package static func escaped(_ json: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let first = first(in: json.span, from: 0) else { return json }
        var out: [UInt8] = []
        out.reserveCapacity(json.count + json.count / 8 + 16)
        appendEscaped(json.span, first, to: &out)
        return out[...]
    }

    package static func escape(from start: Int, in bytes: inout [UInt8]) {
        guard let first = first(in: bytes.span, from: start) else { return }
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count + bytes.count / 8 + 16)
        appendEscaped(bytes.span, first, to: &out)
        bytes = out
    }

    private static func appendEscaped(_ json: Span<UInt8>, _ first: Int, to out: inout [UInt8]) {
        var (start, next) = (0, first as Int?)
        while let place = next {
            out.append(copying: json.extracting(start..<place))
            if json[place] == 0xc2 {
                out.append(contentsOf: "\\u0085".utf8)
                start = place + 2
            } else {
                out.append(contentsOf: json[place + 2] == 0xa8 ? "\\u2028".utf8 : "\\u2029".utf8)
                start = place + 3
            }
            next = self.first(in: json, from: start)
        }
        out.append(copying: json.extracting(start..<json.count))
    }

    /// The offset of the first separator: C2 85, or E2 80 and A8 or A9.
    private static func first(in bytes: Span<UInt8>, from start: Int) -> Int? {
        var index = start
        while index < bytes.count {
            if index &+ 8 <= bytes.count, !mayHaveLead(bytes.word(at: index)) {
                index &+= 8
                continue
            }
            let end = min(index &+ 8, bytes.count)
            while index < end {
                if isSeparator(at: index, in: bytes) { return index }
                index &+= 1
            }
        }
        return nil
    }

    @inline(__always)
    private static func mayHaveLead(_ word: UInt64) -> Bool {
        Lanes.equal(word, to: 0xc2) | Lanes.equal(word, to: 0xe2) != 0
    }

    @inline(__always)
    private static func isSeparator(at index: Int, in bytes: Span<UInt8>) -> Bool {
        switch bytes[index] {
        case 0xc2: index + 1 < bytes.count && bytes[index + 1] == 0x85
        case 0xe2:
            index + 2 < bytes.count && bytes[index + 1] == 0x80
                && (bytes[index + 2] == 0xa8 || bytes[index + 2] == 0xa9)
        default: false
        }
    }
}
