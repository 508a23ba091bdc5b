package import Logging
internal import Synchronization

/// The lines of a log: each message, with its fields in the order of their names.
package final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    package init() {}

    package var all: [String] { lines.withLock { $0 } }

    package var logger: Logger { Logger(label: "test") { _ in Recorder(lines: self) } }

    fileprivate func append(_ line: String) { lines.withLock { $0.append(line) } }
}

private struct Recorder: LogHandler {
    let lines: LogLines
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(lines: LogLines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
        lines.append("\(event.message) " + fields.joined(separator: " "))
    }
}
