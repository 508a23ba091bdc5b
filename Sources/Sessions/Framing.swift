internal import Wire

/// The project's events in the field order `event`, `id`, `data` (WHATWG HTML §9.2.6).
///
/// What is the same for every event of a name is made once: `event: <name>` and the beginning of
/// the id line. On a chunked stream each event is one chunk (RFC 9112 §7.1).
enum Framing {
    static let state = prefix("state")
    static let snapshot = prefix("snapshot")
    static let reset = prefix("reset")
    static let end = prefix("end")
    static let deleted = Array("{\"reason\":\"deleted\"}".utf8)
    static let null = Array("null".utf8)

    private static let dataField = Array("\ndata: ".utf8)
    private static let blankLine = Array("\n\n".utf8)
    private static let idField = Array("id: ".utf8)

    /// `name` has been checked when the reactor was registered: one line, no NUL.
    static func prefix(_ name: String) -> [UInt8] {
        Array("event: \(name)\nid: ".utf8)
    }

    /// `data` is one line of JSON.
    static func append(
        _ prefix: [UInt8], _ position: Position, _ data: ArraySlice<UInt8>, isChunked: Bool,
        to out: inout [UInt8]
    ) {
        if isChunked {
            let fields = prefix.count + position.byteCount + dataField.count + blankLine.count
            ChunkEncoder.appendSize(fields + data.count, to: &out)
        }
        out.append(contentsOf: prefix)
        position.append(to: &out)
        out.append(contentsOf: dataField)
        out.append(contentsOf: data)
        out.append(contentsOf: blankLine)
        if isChunked { ChunkEncoder.appendEnd(to: &out) }
    }

    /// The block that says that what follows does not continue what the client has; in no chunk.
    static func resetBlock(_ reason: ResetReason, _ position: Position) -> [UInt8] {
        var block: [UInt8] = []
        let data = Array("{\"reason\":\"\(reason.rawValue)\"}".utf8)
        append(reset, position, data[...], isChunked: false, to: &block)
        return block
    }

    /// The block that sets Last-Event-ID and dispatches nothing; in no chunk.
    static func idBlock(_ position: Position) -> [UInt8] {
        var block = idField
        position.append(to: &block)
        block.append(contentsOf: blankLine)
        return block
    }
}
