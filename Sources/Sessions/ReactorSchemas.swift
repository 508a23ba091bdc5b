package import JSONCoding
internal import Reactors

/// The JSON Schemas (2020-12) of a reactor's types, found when it is registered.
///
/// Nothing of it can fail: what cannot be found is `{}`, which every value fits.
package struct ReactorSchemas: Sendable {
    /// Nil if sessions are created without an input.
    private let input: JSONSchema?
    private let action: JSONSchema
    private let state: JSONSchema
    private let pulses: [(name: String, schema: JSONSchema)]
    private let activities: [(name: String, schema: JSONSchema)]

    /// The maximum size of their JSON, 64 KiB. A schema with which it would be exceeded is `{}`;
    /// the input's comes first, then the action's, the state's, those of the pulses and those of
    /// the activities.
    package static let limitBytes = 65_536

    /// - Parameters:
    ///   - examples: actions as JSON.
    ///   - fields: the pulses of the state.
    ///   - activities: the names that are listed.
    init<Action: Codable, State: Codable, Activity: Codable>(
        input: JSONSchema?, action: Action.Type, examples: [[UInt8]], initial: State,
        fields: [PulseField<State>], activity: Activity.Type, activities: [String]
    ) {
        let recorder = SchemaRecorder()
        for example in examples { recorder.record(action, in: example) }
        var written: [UInt8] = []
        // A state that cannot be encoded was refused before.
        try? JSON.encode(initial, into: &written)
        recorder.record(State.self, in: written)
        let members = JSON.members(of: written) ?? [:]

        var budget = Budget()
        self.input = input.map { budget.spend($0) }
        self.action = budget.spend(
            SchemaBuilder(recorder, for: .accepted).schema(of: action, samples: examples))
        state = budget.spend(
            SchemaBuilder(recorder, for: .written).schema(of: State.self, samples: [written]))
        pulses = fields.map { field in
            let builder = SchemaBuilder(recorder, for: .written)
            let samples = members[field.name].map { [$0] } ?? []
            let schema = field.valueType.map { builder.schema(of: $0, samples: samples) }
            return (field.name, budget.spend(schema ?? .anything))
        }
        self.activities = activities.map { name in
            let builder = SchemaBuilder(recorder, for: .written)
            let schema = builder.schema(ofCase: name, of: activity)
            return (name, budget.spend(schema ?? .anything))
        }
    }

    /// As JSON: an object with `input` if the reactor takes one, `action`, `state`, `pulses` and
    /// `activities`, the last two by name.
    /// All of them are `{}` if it would have more bytes than that.
    package func json(atMost limitBytes: Int) -> JSONValue {
        let whole = json(\.value)
        return Self.size(of: whole) <= limitBytes ? whole : json { _ in .object([]) }
    }

    private func json(_ show: (JSONSchema) -> JSONValue) -> JSONValue {
        func byName(_ schemas: [(name: String, schema: JSONSchema)]) -> JSONValue {
            .object(schemas.map { .init(key: $0.name, value: show($0.schema)) })
        }
        let others: [JSONValue.Member] = [
            .init(key: "action", value: show(action)), .init(key: "state", value: show(state)),
            .init(key: "pulses", value: byName(pulses)),
            .init(key: "activities", value: byName(activities)),
        ]
        return .object((input.map { [.init(key: "input", value: show($0))] } ?? []) + others)
    }

    private static func size(of value: JSONValue) -> Int {
        var text: [UInt8] = []
        // Text of schemas can always be encoded.
        try? JSON.encode(value, into: &text)
        return text.count
    }

    /// The rest of the maximum size.
    private struct Budget {
        private var left = ReactorSchemas.limitBytes

        mutating func spend(_ schema: JSONSchema) -> JSONSchema {
            let size = ReactorSchemas.size(of: schema.value)
            guard size <= left else { return .anything }
            left -= size
            return schema
        }
    }
}
