internal import JSONCoding

/// The owner of a session, the client that has created it, as the content of the session's first
/// record: a JSON string; no content without an owner.
package enum SessionOwner {
    package static func append(_ owner: ExactText, to content: inout [UInt8]) {
        JSON.appendString(owner.text, to: &content)
    }

    /// Nil for any other content.
    package static func decode(_ content: [UInt8]) -> ExactText? {
        guard !content.isEmpty else { return nil }
        return (try? JSON.decode(String.self, stored: content)).map { ExactText($0) }
    }
}
