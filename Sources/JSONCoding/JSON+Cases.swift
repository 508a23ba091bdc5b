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

    /// The types of the fields of all cases of a `TaggedCodable` enum; nil if they cannot be found,
    /// because no simple JSON value decodes as a field's type.
    static func fieldsOfCases<T: TaggedCodable>(_ type: T.Type) -> [any Any.Type]? {
        let names = probe("", type).names
        guard !names.isEmpty else { return nil }
        var found: [any Any.Type] = []
        for name in names {
            guard let fields = fields(ofCase: name, type) else { return nil }
            found += fields
        }
        return found
    }

    /// Adds a made-up value for each missing field until the case can be decoded.
    private static func fields<T: TaggedCodable>(
        ofCase name: String, _ type: T.Type
    ) -> [any Any.Type]? {
        var found: [any Any.Type] = []
        var text = Array("{\"type\":".utf8)
        JSONText.append(name, to: &text)
        for _ in 0..<64 {
            guard let document = try? JSONDocument(text + Array("}".utf8)) else { return nil }
            let probe = JSONTag.Probe()
            document.probe = probe
            if (try? document.value(type, at: 0)) != nil { return found + probe.absent }
            guard let missing = probe.missing, let value = madeUp(missing.type) else { return nil }
            found.append(missing.type)
            text.append(UInt8(ascii: ","))
            JSONText.append(missing.key, to: &text)
            text.append(UInt8(ascii: ":"))
            text += value
        }
        return nil
    }

    /// JSON that decodes as a value of the type; nil if no simple value does.
    private static func madeUp(_ type: any Any.Type) -> [UInt8]? {
        guard let type = type as? any Decodable.Type else { return nil }
        func reads<T: Decodable>(_ type: T.Type, _ text: String) -> Bool {
            document(text).map { (try? $0.value(type, at: 0)) != nil } ?? false
        }
        let values = [
            "null", "0", "\"\"", "false", "[]", "{}", "\"a\"",
            "\"00000000-0000-0000-0000-000000000000\"",
        ]
        return values.first { reads(type, $0) }.map { Array($0.utf8) }
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
