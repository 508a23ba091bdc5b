internal import Storage
internal import Wire

/// The tags of a session as `{"<name>":"<value>",…}`.
struct ShownTags: Encodable, Sendable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    let tags: SessionTags

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for tag in tags.all {
            try container.encode(tag.value.text, forKey: Name(stringValue: tag.name.text))
        }
    }

    /// When they last changed, as JSON shows it.
    var changed: String {
        var text: [UInt8] = []
        Timestamp.append(milliseconds: tags.changed, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
