internal import Reactors

extension SchemaBuilder {
    /// An enum's raw values, or one of its cases in the form of `TaggedCodable` or of Swift.
    func enumeration<Value: Decodable>(_ type: Value.Type) -> JSONSchema {
        let asked = recorder.ask(type)
        if let values = rawValues(type, asked) { return JSONSchema(["enum": .array(values)]) }
        guard let names = caseNames(type, asked) else { return enumOfOwnCoding(type) }
        let cases = names.map { name in
            visit() ? schema(ofCase: name.key, named: name.name, of: type) : nil
        }
        // Which others there may be is not known.
        if use == .written, cases.contains(nil) { return .anything }
        let found = cases.compactMap(\.self)
        return found.isEmpty ? .anything : .one(of: found)
    }

    func branch<Value: Decodable>(_ name: String, of type: Value.Type) -> JSONSchema? {
        let asked = recorder.ask(type)
        if let values = rawValues(type, asked) {
            return values.contains(.string(name)) ? .constant(name) : nil
        }
        guard let found = caseNames(type, asked)?.first(where: { $0.key == name }) else {
            return nil
        }
        return schema(ofCase: name, named: found.name, of: type)
    }

    private func rawValues<Value>(_ type: Value.Type, _ asked: SchemaNotes) -> [JSONValue]? {
        guard !asked.isIrregular, asked.container == .value, asked.requests.count == 1,
            let raw = type as? any RawRepresentable.Type
        else { return nil }
        return rawValues(raw, requested: asked.requests[0].type)
    }

    private func rawValues<Value: RawRepresentable>(
        _ type: Value.Type, requested: any Any.Type
    ) -> [JSONValue]? {
        guard Value.RawValue.self == requested else { return nil }
        // A case that is unavailable has a raw value from which it cannot be made.
        let values = JSONEnumCases.values(of: type).map(\.rawValue).filter {
            Value(rawValue: $0) != nil
        }
        var found: [JSONValue] = []
        for case let value as any Encodable in values {
            var text: [UInt8] = []
            guard (try? JSON.encode(value, into: &text)) != nil,
                let tree = try? JSON.decode(JSONValue.self, from: text)
            else { return nil }
            found.append(tree)
        }
        return found.isEmpty ? nil : found
    }

    /// The cases' names, in Swift and in JSON, if the enum finds its case as synthesised code does.
    private func caseNames<Value: Decodable>(
        _ type: Value.Type, _ asked: SchemaNotes
    ) -> [(name: String, key: String)]? {
        guard !asked.isIrregular, asked.container == .fields, asked.requestsKeys,
            asked.requests.isEmpty, asked.tested.isEmpty, asked.shownCase == nil,
            let keys = asked.keys, let cases = JSONEnumCases.list(of: keys),
            case let names = JSONEnumCases.names(of: keys), names.count == cases.count
        else { return nil }
        return zip(cases, names).map { ($0.name, $1) }
    }

    private func schema<Value: Decodable>(
        ofCase key: String, named name: String, of type: Value.Type
    ) -> JSONSchema? {
        let seen = recorder.notes(of: type)?.filter { $0.shownCase?.name == key && !$0.isIrregular }
        let fields: [JSONSchema.Field]
        if let seen, !seen.isEmpty {
            fields = self.fields(seen)
        } else {
            guard let found = fieldsOfCase(key, named: name, of: type) else { return nil }
            fields = found
        }
        if type is any TaggedCodable.Type {
            let tag = JSONSchema.Field(
                key: JSONTag.name, schema: .constant(key), isRequired: true)
            return .object([tag] + fields)
        }
        var schema = JSONSchema.object([
            .init(key: key, schema: .object(fields), isRequired: true)
        ])
        // Two cases in one object are refused.
        schema["additionalProperties"] = false
        return schema
    }

    /// The fields of a case that no value shows.
    private func fieldsOfCase<Value: Decodable>(
        _ key: String, named name: String, of type: Value.Type
    ) -> [JSONSchema.Field]? {
        let asked = recorder.ask(type, case: key)
        guard !asked.isIrregular, let shown = asked.shownCase, shown.name == key,
            let parameters = JSONEnumCases.list(of: type)?.first(where: { $0.name == name })?
                .parameters
        else { return nil }
        // SE-0295: the key of a parameter without a label is its index after an underscore.
        let labelled = parameters.enumerated().map {
            ($1.label.isEmpty ? "_\($0)" : $1.label, $1.type)
        }
        let types = Dictionary(labelled) { first, _ in first }
        return fields(asked, shown.keys) { types[$0] }
    }

    /// An enum with a coding of its own: of values that are accepted the examples show some; of
    /// those that are written there may be others.
    private func enumOfOwnCoding(_ type: any Any.Type) -> JSONSchema {
        guard use == .accepted, let seen = recorder.notes(of: type),
            seen.allSatisfy({
                !$0.isIrregular && $0.container == .fields && $0.shownCase == nil
                    && !$0.requestsKeys
            })
        else { return .anything }
        var shapes: [JSONSchema] = []
        for notes in seen {
            let shape = JSONSchema.object(fields([notes]))
            if !shapes.contains(shape) { shapes.append(shape) }
        }
        return shapes.count == 1 ? shapes[0] : .one(of: shapes, "anyOf")
    }
}
