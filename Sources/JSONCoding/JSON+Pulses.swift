package import Reactors

// Codable publishes no coding keys; encoding a value shows them. Done once for a reactor.

extension JSON {
    /// The pulses of a state with their coding keys, which are their names on the wire (contract
    /// §5). A pulse that the state does not encode as itself keeps its name in Swift.
    package static func pulses<State: Encodable>(of initial: State) -> [PulseField<State>] {
        let fields = PulseFields.discover(State.self)
        guard !fields.isEmpty else { return [] }
        let keys = pulseKeys(of: initial)
        return fields.map { field in
            let mark = field.mark(in: initial)
            let found = keys.filter { $0.mark == mark }.map(\.key)
            // A copy of a pulse has the same mark as the original.
            guard let key = found.count == 1 ? found[0] : nil else { return field }
            return field.named(key)
        }
    }

    /// The coding keys under which a value encodes its pulses, each with the pulse's mark. Empty
    /// for a value that is not an object. A pulse that is encoded as its value is not found.
    package static func pulseKeys<Value: Encodable>(
        of value: Value
    ) -> [(key: String, mark: PulseMark)] {
        let writer = JSONWriter(appendingTo: [])
        let found = PulseKeys()
        do {
            let entry = try writer.output.enter(Value.self)
            let base = JSONSlotEncoder(writer: writer, slot: entry.slot, type: Value.self)
            try value.encode(to: PulseKeysEncoder(base: base, found: found))
        } catch {
            // An encoding failure is reported elsewhere; the pulses found before it are valid.
            return found.keys
        }
        return found.keys
    }
}

private final class PulseKeys {
    var keys: [(key: String, mark: PulseMark)] = []

    func see(_ value: Any, _ key: any CodingKey) {
        guard let pulse = value as? any PulseShape else { return }
        keys.append((key.stringValue, pulse.shapeMark))
    }
}

private struct PulseKeysEncoder: Encoder {
    let base: JSONSlotEncoder
    let found: PulseKeys

    var codingPath: [any CodingKey] { base.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(
            PulseKeysFields(base: base.container(keyedBy: type), found: found))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { base.unkeyedContainer() }
    func singleValueContainer() -> any SingleValueEncodingContainer { base }
}

private struct PulseKeysFields<Key: CodingKey>: KeyedEncodingContainerProtocol {
    var base: KeyedEncodingContainer<Key>
    let found: PulseKeys

    var codingPath: [any CodingKey] { base.codingPath }

    mutating func encodeNil(forKey key: Key) throws { try base.encodeNil(forKey: key) }

    mutating func encode(_ value: Int128, forKey key: Key) throws {
        try base.encode(value, forKey: key)
    }

    mutating func encode(_ value: UInt128, forKey key: Key) throws {
        try base.encode(value, forKey: key)
    }

    /// For every other type. It also satisfies the requirements for concrete types, such as `Bool`.
    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        found.see(value, key)
        try base.encode(value, forKey: key)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        base.nestedContainer(keyedBy: type, forKey: key)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        base.nestedUnkeyedContainer(forKey: key)
    }

    mutating func superEncoder() -> any Encoder { base.superEncoder() }
    mutating func superEncoder(forKey key: Key) -> any Encoder { base.superEncoder(forKey: key) }
}
