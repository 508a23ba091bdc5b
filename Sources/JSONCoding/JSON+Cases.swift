internal import Reactors

// The names of an enum's cases. Its own decoding reveals them: Codable has no list of cases.

extension JSON {
    /// Whether an enum has a case that is encoded under this name; false for any other type.
    package static func hasCase<T: Decodable>(_ name: String, _ type: T.Type) -> Bool {
        guard isEnum(type) else { return false }
        if let document = document("\"\(name)\""), (try? document.value(type, at: 0)) != nil {
            return true
        }
        if type is any TaggedCodable.Type { return probe(name, type).isCase }
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
        guard type is any TaggedCodable.Type, isEnum(type) else { return [] }
        return probe("", type).names.filter { probe($0, type).hasReservedField }
    }

    private static func probe<T: Decodable>(_ name: String, _ type: T.Type) -> JSONTag.Probe {
        let probe = JSONTag.Probe()
        var text = Array("{\"type\":".utf8)
        JSONText.append(name, to: &text)
        text.append(UInt8(ascii: "}"))
        guard let document = try? JSONDocument(text) else { return probe }
        document.probe = probe
        // Only the keys that the type requests matter, not the values.
        _ = try? document.value(type, at: 0)
        return probe
    }

    private static func document(_ text: String) -> JSONDocument? {
        try? JSONDocument(Array(text.utf8))
    }
}
