internal import JSONCoding
internal import Sessions

/// The reactors as `GET /v1/reactors` lists them, encoded once.
///
/// Bounds: 64 KiB of examples and 64 KiB of schemas for one reactor, 1 MiB for all. A reactor's
/// examples end before the one with which they would be exceeded, and schemas that do not fit are
/// `{}`. So a list of hundreds of reactors stays complete, and small enough to be sent at once.
struct ReactorList: Sendable {
    private let entries: [(name: String, line: ArraySlice<UInt8>)]
    private let whole: [UInt8]

    static let limitBytes = 1_048_576
    static let examplesLimitBytes = 65_536

    init(_ reactors: [Registration]) {
        var left = Self.limitBytes
        entries = reactors.map { reactor in
            var entry = Entry(reactor)
            var bytes = min(left, Self.examplesLimitBytes)
            left -= bytes
            if let input = reactor.input {
                entry.inputExamples = Entry.values(input.examples, &bytes)
            }
            entry.examples = Entry.values(reactor.examples, &bytes)
            left += bytes
            entry.schemas = reactor.schemas.json(atMost: left)
            left -= JSON.line(entry.schemas).count
            return (reactor.name, JSON.line(entry).dropLast())
        }
        whole = Self.body(entries)
    }

    func page(_ isVisible: (String) -> Bool) -> Response.Body {
        let visible = entries.filter { isVisible($0.name) }
        return visible.count == entries.count ? .constant(whole) : .bytes(Self.body(visible))
    }

    private static func body(_ entries: [(name: String, line: ArraySlice<UInt8>)]) -> [UInt8] {
        Array("{\"reactors\":[".utf8) + entries.map(\.line).joined(separator: ",".utf8)
            + Array("]}\n".utf8)
    }

    private struct Entry: Encodable {
        let name: String
        let stateVersion: Int
        let pulses: [String]
        let activities: [String]
        var examples: [JSONValue] = []
        /// Nil if sessions are created without an input.
        var inputExamples: [JSONValue]?
        var schemas = JSONValue.null

        init(_ registration: Registration) {
            name = registration.name
            stateVersion = registration.stateVersion
            pulses = registration.pulses
            activities = registration.activities
        }

        /// The first examples, as many as the remaining bytes allow.
        static func values(_ examples: [[UInt8]], _ left: inout Int) -> [JSONValue] {
            var values: [JSONValue] = []
            for example in examples {
                guard example.count <= left else { break }
                // Encoded at registration, by the same coder: no value is lost.
                guard let value = try? JSON.decode(JSONValue.self, from: example) else { continue }
                values.append(value)
                left -= example.count
            }
            return values
        }
    }
}
