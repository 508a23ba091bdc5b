/// One event of the log as one line: a JSON object, or logfmt.
///
/// ```text
/// {"time":"2026-11-22T09:41:00.123Z","level":"info","logger":"reactor-server","message":"request"}
/// time=2026-11-22T09:41:00.123Z level=info logger=reactor-server message=request
/// ```
///
/// logfmt has no standard; this is the form that the readers of Go's `logfmt` and of Loki accept:
/// a value is quoted unless it is plain visible ASCII, and its escapes are those of JSON.
///
/// Both forms are ASCII but for letters and symbols in quoted texts: control characters, line and
/// paragraph separators and invisible formatting characters are escaped. One event is one line, and
/// no terminal interprets characters from a client or an error's text.
struct LogLine {
    /// The longest line, with its line feed. Other fields are counted in `omitted_fields`.
    static let limitBytes = 16_384
    /// The maximum length of a written value without quotes; a longer one ends with ``cutMark``.
    static let valueLimitBytes = 4_096
    static let keyLimitBytes = 128
    static let cutMark = "...[cut]"
    /// The longest end of a line: `,"omitted_fields":9223372036854775807}` and the line feed.
    private static let endBytes = 48

    private let format: LogFormat
    private var bytes: [UInt8] = []
    /// A key occurs once: many readers keep only one of several values.
    private var keys: Set<String> = []
    private var omitted = 0

    init(_ format: LogFormat) {
        self.format = format
        bytes.reserveCapacity(256)
    }

    /// Appends a text. A key that the line has is followed by underscores.
    mutating func append(_ key: String, _ text: String) {
        appendField(key) { $0.appendValue(text) }
    }

    /// Appends a number: JSON's own, without quotes.
    mutating func append(_ key: String, number: String) {
        appendField(key) { $0.bytes += number.utf8 }
    }

    consuming func ended() -> [UInt8] {
        if omitted > 0 {
            appendSeparator()
            appendKey("omitted_fields")
            bytes += String(omitted).utf8
        }
        bytes += (format == .json ? bytes.isEmpty ? "{}\n" : "}\n" : "\n").utf8
        return bytes
    }

    private mutating func appendField(_ key: String, _ appendValue: (inout LogLine) -> Void) {
        let start = bytes.count
        var unique = key
        while keys.contains(unique) { unique += "_" }
        appendSeparator()
        appendKey(unique)
        appendValue(&self)
        guard bytes.count <= Self.limitBytes - Self.endBytes else {
            bytes.removeLast(bytes.count - start)
            omitted += 1
            return
        }
        keys.insert(unique)
    }

    private mutating func appendSeparator() {
        switch format {
        case .json: bytes.append(UInt8(ascii: bytes.isEmpty ? "{" : ","))
        case .logfmt: if !bytes.isEmpty { bytes.append(UInt8(ascii: " ")) }
        }
    }

    private mutating func appendKey(_ key: String) {
        switch format {
        case .json:
            appendQuoted(key, limit: Self.keyLimitBytes)
            bytes.append(UInt8(ascii: ":"))
        case .logfmt:
            // A key has no quotes and no escapes.
            if key.isEmpty { bytes.append(UInt8(ascii: "_")) }
            for scalar in key.unicodeScalars.prefix(Self.keyLimitBytes) {
                bytes.append(
                    Self.isPlain(scalar) ? UInt8(truncatingIfNeeded: scalar.value) : 0x5F)
            }
            bytes.append(UInt8(ascii: "="))
        }
    }

    private mutating func appendValue(_ text: String) {
        // `null` without quotes is logfmt's nothing.
        let isPlain =
            format == .logfmt && !text.isEmpty && text != "null"
            && text.unicodeScalars.prefix(Self.valueLimitBytes).allSatisfy(Self.isPlain)
        guard isPlain else { return appendQuoted(text, limit: Self.valueLimitBytes) }
        bytes += text.utf8.prefix(Self.valueLimitBytes)
        if text.utf8.count > Self.valueLimitBytes { bytes += Self.cutMark.utf8 }
    }

    /// Whether logfmt needs no quotes for it: visible ASCII except `"`, `=` and the backslash.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        (0x21...0x7E).contains(scalar.value) && scalar != "\"" && scalar != "=" && scalar != "\\"
    }

    private mutating func appendQuoted(_ text: String, limit: Int) {
        bytes.append(UInt8(ascii: "\""))
        let end = bytes.count + limit
        for scalar in text.unicodeScalars {
            let start = bytes.count
            appendEscaped(scalar)
            guard bytes.count <= end else {
                bytes.removeLast(bytes.count - start)
                bytes += Self.cutMark.utf8
                break
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// RFC 8259 §7, and everything that is invisible or breaks a line.
    private mutating func appendEscaped(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": bytes += #"\""#.utf8
        case "\\": bytes += #"\\"#.utf8
        case "\n": bytes += #"\n"#.utf8
        case "\r": bytes += #"\r"#.utf8
        case "\t": bytes += #"\t"#.utf8
        case _ where (0x20...0x7E).contains(scalar.value):
            bytes.append(UInt8(truncatingIfNeeded: scalar.value))
        case _ where Self.isInvisible(scalar):
            for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                bytes += #"\u"#.utf8
                for shift in [12, 8, 4, 0] {
                    bytes.append(Self.hexDigits[Int(unit >> UInt16(shift) & 0xF)])
                }
            }
        default:
            bytes += Unicode.UTF8.encode(scalar) ?? Unicode.UTF8.encodedReplacementCharacter
        }
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)

    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
