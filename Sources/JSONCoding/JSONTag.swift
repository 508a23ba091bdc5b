/// The member that names an object's case of a `TaggedCodable` enum.
enum JSONTag {
    static let name = "type"

    /// The node of the object's `type`. Refuses an object whose `type` is missing or not a string.
    static func find(in document: JSONDocument, of object: Int) throws -> Int {
        guard let tag = document.member(name, of: object) else {
            throw document.missing(JSONPathKey(name), in: object)
        }
        guard document.nodes[tag].kind == .string else {
            throw document.mismatch(String.self, "a string", at: tag)
        }
        return tag
    }

    /// The case that the `type` names, as the list of keys that Swift requests. If the enum has no
    /// such case, the list is empty and the document records the reason: the caller cannot throw.
    static func keys<Key: CodingKey>(at tag: Int, in document: JSONDocument) -> [Key] {
        // This is the only place with an optional of a type that only the caller knows: each such
        // place costs a look-up of that type, 400 instructions.
        guard let key = Key(stringValue: document.text(at: tag)) else {
            recordError(unknown: Key.self, at: tag, in: document)
            return []
        }
        return [key]
    }

    private static func recordError(
        unknown type: any CodingKey.Type, at tag: Int, in document: JSONDocument
    ) {
        document.tagError = document.corrupted(
            "unknown type \"\(JSONText.shortened(document.text(at: tag)))\"" + known(type), at: tag)
    }

    private static func known(_ type: any CodingKey.Type) -> String {
        guard let type = type as? any (CodingKey & CaseIterable).Type else { return "" }
        return "; known are " + names(of: type).joined(separator: ", ")
    }

    private static func names<Key: CodingKey & CaseIterable>(of _: Key.Type) -> [String] {
        Key.allCases.map { "\"\($0.stringValue)\"" }
    }

    static let reserved =
        "a field of a TaggedCodable case can't be called \"type\": that names the case"
    static let notAnEnum =
        "TaggedCodable is for enums with the coding that Swift synthesises; this type is coded"
        + " in another way"
}
