internal import Logging
internal import Sockets
internal import Wire

/// Writes each event as one line: time, level, label, metadata, message.
///
/// ```text
/// 2026-11-22T09:41:00.123Z info reactor-server code=unknown_session operation=readSession: request
/// ```
///
/// Control characters are escaped as in Swift (`\n`, `\u{1B}`): one event is one line, and no
/// terminal interprets characters from a client or an error's text.
struct LogLineHandler: LogHandler {
    let label: String
    let output: LogOutput
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String, output: LogOutput = .standardError) {
        self.label = label
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var known = metadata
        if let provided = metadataProvider?.get() { known.merge(provided) { $1 } }
        if let given = event.metadata { known.merge(given) { $1 } }
        if let error = event.error { known["error"] = "\(error)" }
        var line: [UInt8] = []
        Timestamp.append(milliseconds: LoopInstant.readWallClockMilliseconds(), to: &line)
        line += " \(event.level.rawValue) ".utf8
        Self.append(label, to: &line)
        for (key, value) in known.sorted(by: { $0.key < $1.key }) {
            line.append(UInt8(ascii: " "))
            Self.append("\(key)=\(value)", to: &line)
        }
        line += ": ".utf8
        Self.append(event.message.description, to: &line)
        line.append(UInt8(ascii: "\n"))
        output.append(line)
    }

    private static func append(_ text: String, to line: inout [UInt8]) {
        for scalar in text.unicodeScalars {
            // Unicode's category Cc.
            if scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) {
                line += scalar.escaped(asASCII: true).utf8
            } else {
                line += Unicode.UTF8.encode(scalar) ?? Unicode.UTF8.encodedReplacementCharacter
            }
        }
    }
}
