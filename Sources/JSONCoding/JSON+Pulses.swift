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
        var found: [(key: String, mark: PulseMark)] = []
        let writer = JSONWriter(appendingTo: []) { key, member in
            guard let pulse = member as? any PulseShape else { return }
            found.append((key, pulse.shapeMark))
        }
        // An encoding failure is reported elsewhere; the pulses found before it are valid.
        try? writer.encodeRoot(value)
        return found
    }
}
