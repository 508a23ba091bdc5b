internal import Wire

/// The project's events in the field order `event`, `id`, `data` (WHATWG HTML §9.2.6).
///
/// What is the same for every event of a name is made once: `event: <name>` and the beginning of
/// the id line.
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
        _ prefix: [UInt8], _ position: Position, _ data: ArraySlice<UInt8>, to out: inout [UInt8]
    ) {
        out.append(contentsOf: prefix)
        position.append(to: &out)
        out.append(contentsOf: dataField)
        out.append(contentsOf: data)
        out.append(contentsOf: blankLine)
    }

    /// Tells that what follows does not continue what the client has.
    static func appendReset(_ reason: ResetReason, _ position: Position, to out: inout [UInt8]) {
        append(reset, position, Array("{\"reason\":\"\(reason.rawValue)\"}".utf8)[...], to: &out)
    }

    /// Sets Last-Event-ID and dispatches nothing.
    static func appendPriming(_ position: Position, to out: inout [UInt8]) {
        out.append(contentsOf: idField)
        position.append(to: &out)
        out.append(contentsOf: blankLine)
    }
}
