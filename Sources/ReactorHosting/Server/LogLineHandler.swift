internal import Logging
internal import Sockets
internal import Wire

/// Writes each event as one line (``LogLine``): `time`, `level`, `logger`, `message`, then the
/// metadata in the order of their keys.
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
        output.append(
            LogLine.bytes(
                output.format, event.level, label, event.message.description,
                known.sorted(by: { $0.key < $1.key })))
    }
}

extension LogLine {
    /// The line of an event that happens now.
    static func bytes(
        _ format: LogFormat, _ level: Logger.Level, _ label: String, _ message: String,
        _ metadata: [(key: String, value: Logger.Metadata.Value)]
    ) -> [UInt8] {
        var time: [UInt8] = []
        Timestamp.append(milliseconds: LoopInstant.readWallClockMilliseconds(), to: &time)
        var line = LogLine(format)
        line.append("time", String(decoding: time, as: UTF8.self))
        line.append("level", level.rawValue)
        line.append("logger", label)
        line.append("message", message)
        for (key, value) in metadata {
            if case .stringConvertible(let number) = value, number is any LogNumber {
                line.append(key, number: number.description)
            } else {
                line.append(key, "\(value)")
            }
        }
        return line.ended()
    }
}

/// A value of metadata whose description is a number of JSON.
protocol LogNumber: CustomStringConvertible, Sendable {}

extension Int: LogNumber {}

/// A duration in milliseconds, with three decimals.
struct LogMilliseconds: LogNumber {
    let duration: Duration

    init(_ duration: Duration) {
        self.duration = duration
    }

    var description: String {
        let microseconds = max(.zero, duration) / .microseconds(1)
        // Not more than 2^53, so that it is an integer exactly.
        let whole = Int64(min(microseconds, 9e15))
        let decimals = String(whole % 1_000)
        return "\(whole / 1_000).\(String(repeating: "0", count: 3 - decimals.count))\(decimals)"
    }
}
