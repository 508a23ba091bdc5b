internal import Reactors

/// The member that says which case of a `TaggedCodable` enum an object is.
enum JSONTag {
    static let name = "type"

    /// The case's name. Precondition: `check` has passed for this object.
    static func caseName(in document: JSONDocument, at object: Int) -> String? {
        document.member(name, of: object).map { document.text(at: $0) }
    }

    /// Refuses an object without a `type`, or with one that is no case of the enum.
    static func check<Key: CodingKey>(
        _: Key.Type, in document: JSONDocument, at object: Int
    ) throws {
        guard let tag = document.member(name, of: object) else {
            throw document.missing(JSONPathKey(name), in: object)
        }
        let caseName = try document.string(at: tag)
        guard Key(stringValue: caseName) == nil else { return }
        throw document.corrupted("unknown type \"\(caseName)\"" + known(Key.self), at: tag)
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
