/// The last bytes that one connection of a pool sent and received, so that a failure can be
/// repeated.
struct ClientMemory {
    /// The number of bytes that are kept of each request and response.
    static let keptBytes = 600
    /// The number of lines that are kept.
    static let limit = 24

    private struct Line {
        var time: UInt64
        var text: String
        var bytes: [UInt8]
        var count: Int
    }

    private var kept: [Line] = []
    private let start = Clock.now()

    mutating func record(_ text: String) {
        keep(Line(time: Clock.now(), text: text, bytes: [], count: 0))
    }

    mutating func sent(_ bytes: [UInt8]) {
        keep(
            Line(
                time: Clock.now(), text: "sends", bytes: Array(bytes.prefix(Self.keptBytes)),
                count: bytes.count))
    }

    mutating func answered(_ status: Int, _ body: [UInt8]) {
        keep(
            Line(
                time: Clock.now(), text: "hears \(status)", bytes: Array(body.prefix(160)),
                count: body.count))
    }

    private mutating func keep(_ line: Line) {
        kept.append(line)
        // At twice the limit the older half is removed, so that removal costs little per line.
        if kept.count >= 2 * Self.limit { kept.removeFirst(Self.limit) }
    }

    /// Milliseconds since the run began and the event; bytes are escaped as in C.
    var lines: [String] {
        kept.suffix(Self.limit).map { line in
            let milliseconds = (line.time - start) / 1_000_000
            guard line.count > 0 else { return "\(milliseconds) ms \(line.text)" }
            let rest = line.count > line.bytes.count ? "… of \(line.count) bytes" : ""
            return "\(milliseconds) ms \(line.text) \"\(Self.escaped(line.bytes))\"\(rest)"
        }
    }

    /// Printable text on one line; other bytes as `\r`, `\n`, or `\x` and two digits.
    static func escaped(_ bytes: [UInt8]) -> String {
        var text = ""
        for byte in bytes {
            switch byte {
            case 0x0D: text += "\\r"
            case 0x0A: text += "\\n"
            case 0x22, 0x5C: text += "\\" + String(Unicode.Scalar(byte))
            case 0x20..<0x7F: text += String(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16)
                text += "\\x" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return text
    }
}
