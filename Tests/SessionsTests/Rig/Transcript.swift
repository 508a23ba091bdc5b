import Wire

/// One block of a stream as a reader gets it.
struct Heard: Equatable, CustomStringConvertible {
    var name: String
    var id: String
    var data: String

    /// `name number[.part] data`; the generation is left out, since tests do not know it.
    var description: String {
        let position = id.split(separator: ".").dropFirst().joined(separator: ".")
        return "\(name) \(position) \(data)"
    }
}

/// The bytes that a reader has received, read as a browser reads them.
struct Transcript {
    private(set) var events: [Heard] = []
    /// The value that it would send as `Last-Event-ID`.
    private(set) var lastEventID = ""

    /// - Parameter bytes: in chunks, or not.
    init(_ bytes: some Sequence<UInt8>) {
        var decoder = EventStreamDecoder()
        events = Self.read(StreamBody(Array(bytes)).content, &decoder)
        lastEventID = decoder.lastEventID
    }

    /// - Parameter plain: not in chunks.
    init(plain bytes: [UInt8]) {
        var decoder = EventStreamDecoder()
        events = Self.read(bytes, &decoder)
        lastEventID = decoder.lastEventID
    }

    private static func read(_ bytes: [UInt8], _ decoder: inout EventStreamDecoder) -> [Heard] {
        var heard: [Heard] = []
        let span = bytes.span
        do {
            try decoder.receive(span) { event in
                heard.append(Heard(name: event.name, id: event.lastEventID, data: event.data))
            }
        } catch {
            preconditionFailure("the limit of an event was reached")
        }
        return heard
    }

    /// As ``Heard/description``, one for each event.
    var lines: [String] { events.map(\.description) }
}
