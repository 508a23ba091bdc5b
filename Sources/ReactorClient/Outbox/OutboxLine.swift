internal import JSONCoding

// The form of the file (ADR-0042): each line is one flush, and valid as a whole or not at all: its
// checksum, a space, and an array of records as JSON without a line feed. So text after the last
// line feed was cut off, and anything else that does not fit is damage.

enum OutboxLine {
    static func encoded(_ records: [OutboxRecord]) -> [UInt8] {
        var line = [UInt8](repeating: UInt8(ascii: " "), count: 9)
        do throws(JSONEncodingFailure) {
            try JSON.encode(records, into: &line)
        } catch {
            preconditionFailure("texts and whole numbers have JSON: \(error)")
        }
        line.replaceSubrange(..<8, with: hex(Checksum.of(line[9...])))
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// The JSON of a line without its line feed; nil if the checksum is another one.
    static func json(_ line: ArraySlice<UInt8>) -> [UInt8]? {
        let json = line.dropFirst(9)
        guard line.count > 9, line.prefix(8) == hex(Checksum.of(json))[...],
            line[line.startIndex + 8] == UInt8(ascii: " ")
        else { return nil }
        return Array(json)
    }

    private static func hex(_ value: UInt32) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return (0..<8).map { digits[Int(value >> UInt32(28 - $0 * 4) & 15)] }
    }
}
