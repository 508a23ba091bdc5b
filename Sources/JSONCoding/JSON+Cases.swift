internal import Reactors

// The names of an enum's cases. Its own decoding reveals them: Codable has no list of cases.

extension JSON {
    /// Whether an enum has a case that is encoded under this name; false for any other type.
    package static func hasCase<T: Decodable>(_ name: String, _ type: T.Type) -> Bool {
        guard isEnum(type) else { return false }
        if let document = document("\"\(name)\""), (try? document.value(type, at: 0)) != nil {
            return true
        }
        if type is any TaggedCodable.Type {
            return caseKeys(of: type)?.init(stringValue: name) != nil
        }
        guard let document = document("{\"\(name)\":{}}") else { return false }
        do {
            _ = try document.value(type, at: 0)
            return true
        } catch {
            // The name is valid if the mismatch lies in the value under it.
            guard case .mismatch(let path, _) = document.refusal(for: error) else { return false }
            return path.hasPrefix("/\(name)")
        }
    }

    /// The cases of a `TaggedCodable` enum that have a field called `type`.
    package static func casesWithReservedField<T: Decodable>(_ type: T.Type) -> [String] {
        guard type is any TaggedCodable.Type, isEnum(type), let keys = caseKeys(of: type) else {
            return []
        }
        return JSONEnumCases.names(of: keys).filter { name in
            let fields = SchemaRecorder().ask(type, case: name).shownCase?.keys
            return fields?.init(stringValue: JSONTag.name) != nil
        }
    }

    /// The coding keys among which the enum looks up its case; nil if it looks up none.
    private static func caseKeys<T: Decodable>(of type: T.Type) -> (any CodingKey.Type)? {
        let asked = SchemaRecorder().ask(type)
        return asked.requestsKeys ? asked.keys : nil
    }

    private static func document(_ text: String) -> JSONDocument? {
        try? JSONDocument(Array(text.utf8))
    }
}
