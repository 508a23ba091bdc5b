internal import Reactors

/// Derives a schema from a type and the requests of its decoding.
///
/// A type with a value is described by the requests that were recorded while that was decoded. One
/// without is described by its stored properties or its cases, if its keys are theirs and its first
/// request is theirs too, as in the code that Swift synthesises. Anything else is `{}`.
///
/// Bounds: 16 arrays and objects inside each other, 1000 types in a schema; what exceeds them is
/// `{}`. A type that contains itself refers to itself.
package final class SchemaBuilder {
    package enum Use: Sendable {
        /// Values that the service accepts: what is not known to be accepted is left out.
        case accepted
        /// Values that the service writes: what is not known may be anything.
        case written
    }

    let recorder: SchemaRecorder
    let use: Use
    private var visitsLeft = 1_000
    private var depth = 0
    private static let depthLimit = 16

    /// The types around the present one.
    private var outer: [ObjectIdentifier] = []
    /// The names of types that contain themselves.
    private var names: [ObjectIdentifier: String] = [:]
    private var definitions: [JSONValue.Member] = []

    package init(_ recorder: SchemaRecorder, for use: Use) {
        self.recorder = recorder
        self.use = use
    }

    /// The schema of the type's values.
    ///
    /// - Parameter samples: values as JSON; the schema is widened so that they fit.
    package func schema(of type: any Any.Type, samples: [[UInt8]] = []) -> JSONSchema {
        whole(schema(ofPart: type), samples)
    }

    /// The schema of one case of an enum; nil if it has none of the name, or its coding
    /// is not known.
    package func schema(ofCase name: String, of type: any Any.Type) -> JSONSchema? {
        guard let type = type as? any Decodable.Type, JSON.isEnum(type) else { return nil }
        return branch(name, of: type).map { whole($0, []) }
    }

    private func whole(_ schema: JSONSchema, _ samples: [[UInt8]]) -> JSONSchema {
        var schema = schema
        if !definitions.isEmpty { schema["$defs"] = .object(definitions) }
        for sample in samples {
            guard let value = try? JSON.decode(JSONValue.self, from: sample) else { continue }
            schema = schema.widened(toFit: value)
        }
        return schema
    }

    // MARK: Types

    func schema(ofPart type: any Any.Type) -> JSONSchema {
        if let known = SchemaTypes.known[ObjectIdentifier(type)] { return known }
        guard visit() else { return .anything }
        if let container = type as? any JSONContainer.Type {
            return schema(ofContainer: container.form, container.parts)
        }
        guard let type = type as? any Decodable.Type else { return .anything }
        return nest { named(type) } ?? .anything
    }

    /// Counts a type; false if there were too many.
    func visit() -> Bool {
        visitsLeft -= 1
        return visitsLeft >= 0
    }

    private func nest(_ make: () -> JSONSchema) -> JSONSchema? {
        guard depth < Self.depthLimit else { return nil }
        depth += 1
        defer { depth -= 1 }
        return make()
    }

    private func named(_ type: any Decodable.Type) -> JSONSchema {
        let id = ObjectIdentifier(type)
        if outer.contains(id) { return reference(to: type) }
        outer.append(id)
        let schema = JSON.isEnum(type) ? enumeration(type) : structure(type)
        outer.removeLast()
        guard let name = names[id] else { return schema }
        if !definitions.contains(where: { $0.key == name }) {
            definitions.append(.init(key: name, value: schema.value))
        }
        return reference(to: type)
    }

    private func reference(to type: any Any.Type) -> JSONSchema {
        let id = ObjectIdentifier(type)
        let name = names[id] ?? newName(for: type)
        names[id] = name
        return JSONSchema(["$ref": .string("#/$defs/\(name)")])
    }

    private func newName(for type: any Any.Type) -> String {
        let plain = String(describing: type).unicodeScalars.prefix(64).map { scalar in
            scalar.isASCII && scalar.properties.isAlphabetic ? Character(scalar) : "_"
        }
        var (name, number) = (String(plain), 1)
        while names.values.contains(name) {
            number += 1
            name = "\(String(plain))\(number)"
        }
        return name
    }

    // MARK: Collections

    private func schema(ofContainer form: JSONContainerForm, _ parts: [any Any.Type]) -> JSONSchema
    {
        switch form {
        case .bare: schema(ofPart: parts[0])
        case .optional: schema(ofPart: parts[0]).orNull
        case .list: array(of: parts[0])
        case .dictionary: dictionary(parts[0], parts[1])
        }
    }

    private func array(of element: any Any.Type) -> JSONSchema {
        nest { JSONSchema.array(of: schema(ofPart: element)) } ?? .anything
    }

    /// As the standard library encodes dictionaries: an object if the keys are text, else an array
    /// of keys and values by turns.
    private func dictionary(_ key: any Any.Type, _ value: any Any.Type) -> JSONSchema {
        let made = nest { () -> JSONSchema in
            let values = schema(ofPart: value)
            guard key == String.self || key == Int.self || key is any CodingKeyRepresentable.Type
            else {
                let keys = schema(ofPart: key)
                if keys == .anything || values == .anything { return .array(of: .anything) }
                return .array(of: keys == values ? keys : .one(of: [keys, values], "anyOf"))
            }
            var schema = JSONSchema(["type": "object"])
            if key == Int.self {
                schema["propertyNames"] = ["pattern": "^(0|-?[1-9][0-9]{0,18})$"]
            } else if key != String.self, case let names = self.schema(ofPart: key),
                names["enum"] != nil
            {
                schema["propertyNames"] = names.value
            }
            if values != .anything { schema["additionalProperties"] = values.value }
            return schema
        }
        return made ?? .anything
    }

    // MARK: Structs

    private func structure(_ type: any Decodable.Type) -> JSONSchema {
        if let seen = recorder.notes(of: type) { return schema(seen) }
        let asked = recorder.ask(type)
        guard !asked.isIrregular else { return .anything }
        let properties = JSON.storedProperties(of: type)
        switch asked.container {
        // Without properties there is nothing to request.
        case nil: return properties?.isEmpty == true ? .object([]) : .anything
        case .value: return single([asked])
        case .elements: return JSONSchema(["type": "array"])
        case .fields:
            guard let properties, let keys = asked.keys else { return .anything }
            let named = Dictionary(properties.map { ($0.name, $0.type) }) { first, _ in first }
            let fields = fields(asked, keys) { named[$0] ?? named["_\($0)"] }
            return fields.map(JSONSchema.object) ?? .anything
        }
    }

    /// The schema by the requests of values that exist.
    private func schema(_ seen: [SchemaNotes]) -> JSONSchema {
        guard let container = seen[0].container,
            seen.allSatisfy({ !$0.isIrregular && $0.container == container })
        else { return .anything }
        switch container {
        case .value: return single(seen)
        case .elements:
            // Several types: by turns, or by their order.
            let types = seen.flatMap(\.requests).map(\.type)
            let isUniform = types.allSatisfy { $0 == types[0] }
            return .array(of: types.isEmpty || !isUniform ? .anything : schema(ofPart: types[0]))
        case .fields:
            // Keys that are read from the object may be any.
            guard !seen.contains(where: \.requestsKeys) else { return .anything }
            return .object(fields(seen))
        }
    }

    private func single(_ seen: [SchemaNotes]) -> JSONSchema {
        let types = seen.flatMap(\.requests).map(\.type)
        guard let first = types.first, types.allSatisfy({ $0 == first }) else { return .anything }
        let schema = schema(ofPart: first)
        return seen.contains(where: \.requestsNull) ? schema.orNull : schema
    }

    /// The fields that were requested; those that were not always are not required.
    func fields(_ seen: [SchemaNotes]) -> [JSONSchema.Field] {
        var order: [SchemaNotes.Request] = []
        for request in seen.flatMap(\.requests)
        where !order.contains(where: { $0.key == request.key }) {
            order.append(request)
        }
        return order.map { first in
            let all = seen.map { $0.requests.filter { $0.key == first.key } }
            let isTested = seen.contains { $0.tested.contains(first.key) }
            let isUniform = all.allSatisfy { $0.allSatisfy { $0.type == first.type } }
            let isOptional = isTested || all.contains { $0.contains(where: \.isOptional) }
            let schema = isUniform ? schema(ofPart: first.type) : .anything
            return JSONSchema.Field(
                key: first.key, schema: isOptional ? schema.orNull : schema,
                isRequired: !isOptional && all.allSatisfy { !$0.isEmpty })
        }
    }

    /// The fields of a type without a value: its keys with the types of what they are named after;
    /// nil if these do not belong together.
    func fields(
        _ asked: SchemaNotes, _ keys: any CodingKey.Type, type: (String) -> (any Any.Type)?
    ) -> [JSONSchema.Field]? {
        guard !asked.requestsKeys || asked.chosenCase != nil, asked.tested.isEmpty,
            case let cases = JSONEnumCases.list(of: keys) ?? [],
            case let wireNames = JSONEnumCases.names(of: keys), cases.count == wireNames.count
        else { return nil }
        var expected: [SchemaNotes.Request] = []
        for (name, key) in zip(cases.map(\.name), wireNames) {
            guard let type = type(name) else { return nil }
            expected.append(Self.request(key, type))
        }
        // Swift's code requests the fields in the order of their declaration, which is mostly that
        // of the keys; and nothing if there are none.
        guard asked.requests.count == (expected.isEmpty ? 0 : 1),
            asked.requests.allSatisfy(expected.contains)
        else { return nil }
        return expected.map { request in
            let schema = schema(ofPart: request.type)
            return JSONSchema.Field(
                key: request.key, schema: request.isOptional ? schema.orNull : schema,
                isRequired: !request.isOptional)
        }
    }

    /// The request that Swift synthesises for a property of the type.
    private static func request(_ key: String, _ type: any Any.Type) -> SchemaNotes.Request {
        let value = (type as? any PulseShape.Type)?.valueShape ?? type
        guard let container = value as? any JSONContainer.Type, container.form == .optional else {
            return .init(key: key, type: type, isOptional: false)
        }
        return .init(key: key, type: container.parts[0], isOptional: true)
    }
}
