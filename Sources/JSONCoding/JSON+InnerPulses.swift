internal import Reactors

// Only fields of the state itself are streamed: a pulse in an optional, an array or a case has no
// fixed offset, and may come and go between two versions. One in a struct could have a name with a
// dot; it is refused like the others, so that one rule holds.

extension JSON {
    /// The paths of the pulses of a state that are not its own fields: `child.alert`,
    /// `items[].alert`. At most 8 of them.
    ///
    /// Found by types, so also where the state has nil or an empty array. Not found: pulses in
    /// classes, in existentials, and more than 64 types deep.
    package static func innerPulses<State>(of state: State.Type) -> [String] {
        var search = InnerPulseSearch()
        search.searchParts(of: state, at: "", within: [])
        return search.found
    }
}

private struct InnerPulseSearch {
    private(set) var found: [String] = []
    // Types are visited once for each path to them, of which there may be very many.
    private var visitsLeft = 4_096
    private static let limit = 8

    mutating func searchParts(
        of type: any Any.Type, at path: String, within outer: [ObjectIdentifier]
    ) {
        let id = ObjectIdentifier(type)
        // Leaves out the insides of library types: what cannot be encoded is in no stream.
        guard type is any Encodable.Type, SchemaTypes.known[id] == nil, !outer.contains(id),
            outer.count < 64, visitsLeft > 0
        else { return }
        visitsLeft -= 1
        let within = outer + [id]
        if let container = type as? any JSONContainer.Type {
            let isOne = container.form == .optional || container.form == .bare
            let inner = isOne ? path : path + "[]"
            for part in container.parts { search(part, at: inner, within: within) }
        } else if let properties = JSON.storedProperties(of: type) {
            for (name, type) in properties {
                let isPulse = type is any PulseShape.Type
                let name = isPulse && name.hasPrefix("_") ? String(name.dropFirst()) : name
                let inner = path.isEmpty ? name : "\(path).\(name)"
                if isPulse, outer.isEmpty {
                    searchParts(of: type, at: inner, within: within)
                } else {
                    search(type, at: inner, within: within)
                }
            }
        } else {
            for one in JSONEnumCases.list(of: type) ?? [] {
                for parameter in one.parameters {
                    let inner = [path, one.name, parameter.label].filter { !$0.isEmpty }
                    search(parameter.type, at: inner.joined(separator: "."), within: within)
                }
            }
        }
    }

    private mutating func search(
        _ type: any Any.Type, at path: String, within outer: [ObjectIdentifier]
    ) {
        if type is any PulseShape.Type, found.count < Self.limit, !found.contains(path) {
            found.append(path)
        }
        searchParts(of: type, at: path, within: outer)
    }
}
