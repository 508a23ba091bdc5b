internal import JSONCoding

extension Hosted {
    /// Hosts JSON documents, which clients create and change without any code of yours.
    ///
    /// ```swift
    /// await ReactorServer.main(hosting: [.document()])
    /// ```
    ///
    /// The state is `{"value":…}`, any JSON. A client creates it with
    /// `{"reactor":"document","input":<the first value>}`; without an input the value is `null`.
    ///
    /// | action | effect |
    /// |---|---|
    /// | `{"type":"set","value":…}` | replaces the value |
    /// | `{"type":"patch","operations":[…]}` | RFC 6902, all operations or none |
    /// | `{"type":"append","path":"/text","text":"…"}` | appends to the text at a JSON pointer |
    /// | `{"type":"emit","name":"token","data":…}` | the pulse `emitted`: `{"name":…,"data":…}` |
    ///
    /// An operation that fails refuses its action with the number of the operation, its pointer and
    /// the reason. With `test` a patch is a compare-and-set. A document has at most 100 000 members
    /// and elements, and `--state-limit` bounds its bytes (ADR-0086).
    ///
    /// - Parameter name: as for a reactor. Default `document`.
    public static func document(_ name: String = "document") -> Hosted {
        Hosted(
            name, input: JSONValue?.self, inputExamples: [["title": "Shopping"]],
            examples: DocumentReactor.examples
        ) { DocumentReactor(value: $0.input ?? .null) }
    }
}
