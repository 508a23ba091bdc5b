internal import Feeds
internal import Storage
internal import Wire

extension ReaderPresence {
    /// Nil if the request asks for neither: `as`, the name of the reader, and `presence=on`.
    ///
    /// Design: only `as` gives a name, not a token alone, so that a client can read without being
    /// seen.
    init?(_ items: QueryItems, for access: Access?) throws(Problem) {
        let isOn = try items.word("presence", of: ["on", "off"]) == "on"
        // Presence is not a pulse, so a grant of pulses does not include it.
        if isOn, access?.grants.pulses != nil { throw .forbidden }
        guard let name = items.first("as") else {
            guard isOn else { return nil }
            self.init(name: nil, getsEvents: true)
            return
        }
        guard Self.permits(name) else {
            throw .badParameter(
                "as", name, "send 1 to \(Self.nameBytes) bytes without control characters")
        }
        if let access, access.subject != ExactText(name) {
            throw Problem(
                403, "other_name", "as is \(name); it must be the subject of the token")
        }
        self.init(name: ExactText(name), getsEvents: isOn)
    }
}
