/// The readers of a session, as the service shows them.
struct PresentNames: Equatable {
    let names: Set<String>
    let others: UInt64

    /// nil if there are more than 100, of which only the number is shown.
    init?(_ json: [UInt8]) {
        let text = String(decoding: json, as: UTF8.self)
        guard text.hasPrefix(#"{"present":["#),
            let others = AnswerRules.number(after: #""others":"#, in: json)
        else { return nil }
        let list = ListedSession.text(after: "[", upTo: "]", in: text[...])
        names = Set(list.split(separator: ",").map { String($0.dropFirst().dropLast()) })
        self.others = others
    }
}

/// A reader with a name, which is shown the names of all readers.
struct PresenceWatcher {
    let name: String
    let session: String
    /// The noise of a storm has the names 0 to 149.
    static let noise = 150
    private(set) var events = 0
    /// The newest set; nil if the stream has shown none, or no names.
    private(set) var shown: PresentNames?

    init(name: String, session: String) { (self.name, self.session) = (name, session) }

    mutating func begin() { shown = nil }

    /// Returns the fault that the event shows.
    mutating func receive(_ event: String, _ data: [UInt8], known: Set<String>) -> String? {
        guard event == "presence" else { return nil }
        events += 1
        shown = PresentNames(data)
        guard let names = shown?.names else { return nil }
        if !names.contains(name) { return "\(name) reads \(session) and is not among \(names)" }
        let strange = names.filter { name in
            !known.contains(name) && !(Int(name).map { (0..<Self.noise).contains($0) } ?? false)
        }
        return strange.isEmpty ? nil : "nobody in \(session) ever had the name \(strange)"
    }
}
