/// Records what types request of their decoder, once, when a reactor is registered.
///
/// Codable has no description of a type: only its `init(from:)` shows what it reads. Two things are
/// recorded: what types request while values that exist are decoded (the examples of actions, the
/// initial state), and what a type without such a value requests *first*, before it is refused.
///
/// Invariant: no made-up value reaches a type's code. A type may trap on values that were never
/// written (`1 / count`, `names[0]`, `low...high`), and registration must not end the process. A
/// refusal is an error, which every `init(from:)` may get from any saved text.
package final class SchemaRecorder {
    private var observed: [ObjectIdentifier: [SchemaNotes]] = [:]
    private var requests = 0

    /// Requests beyond are refused, and what they belong to counts as not recorded. So an initial
    /// state with a million elements costs no more than one with ten thousand.
    private static let requestLimit = 10_000
    /// The number of ways to decode one type that are distinguished.
    private static let notesLimit = 128

    var isExhausted: Bool { requests >= Self.requestLimit }

    package init() {}

    /// Decodes a value as ``JSON/decode(_:from:)`` does, and records the requests. A value that
    /// cannot be decoded leaves the records of its parts.
    package func record<Value: Decodable>(_ type: Value.Type, in bytes: [UInt8]) {
        guard let document = try? JSONDocument(bytes) else { return }
        // The value itself is of no interest.
        _ = try? value(type, in: document, at: 0)
    }

    /// The requests of all values of the type that were decoded; nil if there were none.
    func notes(of type: any Any.Type) -> [SchemaNotes]? { observed[ObjectIdentifier(type)] }

    /// Lets the type decode from nothing: its first request of a value is refused.
    func ask<Value: Decodable>(_ type: Value.Type, case name: String? = nil) -> SchemaNotes {
        let notes = SchemaNotes(chosenCase: name)
        let decoder = NotingDecoder(recorder: self, notes: notes, base: nil)
        if (try? Value(from: decoder)) != nil { notes.succeed() }
        return notes
    }

    /// The value at a node, as `JSONDocument.value` reads it.
    func value<Value: Decodable>(
        _ type: Value.Type, in document: JSONDocument, at node: Int
    ) throws -> Value {
        if SchemaTypes.known[ObjectIdentifier(type)] != nil {
            return try document.value(type, at: node)
        }
        let notes = SchemaNotes(isOfCollection: type is any JSONContainer.Type)
        let base = JSONNodeDecoder(document: document, node: UInt32(node), type: type)
        let value = try Value(from: NotingDecoder(recorder: self, notes: notes, base: base))
        notes.succeed()
        if !notes.isOfCollection { add(notes, of: type) }
        return value
    }

    private func add(_ notes: SchemaNotes, of type: any Any.Type) {
        let known = observed[ObjectIdentifier(type), default: []]
        guard known.count < Self.notesLimit, !known.contains(where: notes.isLike) else { return }
        observed[ObjectIdentifier(type)] = known + [notes]
    }

    func request() throws {
        guard !isExhausted else { throw Self.refusal(Any.self) }
        requests += 1
    }

    /// The error that types get in place of a value: the one that those that try several
    /// types expect.
    static func refusal(_ type: any Any.Type) -> DecodingError {
        .typeMismatch(type, .init(codingPath: [], debugDescription: "no value is here"))
    }
}
