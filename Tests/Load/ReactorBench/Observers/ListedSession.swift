/// A session as a list by tags shows it. Its version is left out: it may change without the tags.
struct ListedSession: Hashable {
    let id: String
    /// As JSON, without braces. No tag of these runs has a brace.
    let tags: String
    let changed: String

    /// The sessions in a page, or in the data of an event.
    static func all(in json: [UInt8]) -> [ListedSession] {
        let text = " " + String(decoding: json, as: UTF8.self)
        return text.split(separator: #"{"id":""#).dropFirst().map { entry in
            ListedSession(
                id: String(entry.prefix { $0 != "\"" }),
                tags: Self.text(after: #""tags":{"#, upTo: "}", in: entry),
                changed: Self.text(after: #""changed":""#, upTo: "\"", in: entry))
        }
    }

    static func text(after mark: String, upTo end: Character, in text: Substring) -> String {
        let parts = text.split(
            separator: mark, maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count < 2 ? "" : String(parts[1].prefix { $0 != end })
    }
}
