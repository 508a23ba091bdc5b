internal import JSONCoding

/// The owner and the input with which a session was created.
///
/// It is the content of the session's first record. That content is empty, the owner as a JSON
/// string, or `{"owner":"ada","input":{…}}`, where `owner` may be missing. Journals also keep it
/// apart from the records as long as the session, because the first record may be trimmed.
package struct SessionCreation: Sendable, Equatable {
    /// The client that created the session; nil if it was not authenticated.
    package var owner: ExactText?
    /// One line of JSON, shorter than the body of its request; nil if the creation had no input.
    package var input: [UInt8]?

    package init(owner: ExactText? = nil, input: [UInt8]? = nil) {
        self.owner = owner
        self.input = input
    }

    package func append(to content: inout [UInt8]) {
        guard let input else {
            if let owner { JSON.appendString(owner.text, to: &content) }
            return
        }
        content += "{".utf8
        if let owner {
            content += "\"owner\":".utf8
            JSON.appendString(owner.text, to: &content)
            content += ",".utf8
        }
        content += "\"input\":".utf8
        content += input
        content += "}".utf8
    }

    /// Has no owner and no input if the content has another form.
    package init(content: [UInt8]) {
        guard content.first == UInt8(ascii: "{"), let members = JSON.members(of: content) else {
            owner = Self.owner(content)
            return
        }
        owner = members["owner"].flatMap(Self.owner)
        input = members["input"]
    }

    /// Whether the session was created with this input: the same JSON value, or nil for none.
    package func isMade(with input: [UInt8]?) -> Bool {
        guard let mine = self.input, let input else { return self.input == nil && input == nil }
        return JSON.areSame(mine, input)
    }

    private static func owner(_ content: [UInt8]) -> ExactText? {
        guard !content.isEmpty else { return nil }
        return (try? JSON.decode(String.self, stored: content)).map { ExactText($0) }
    }
}
