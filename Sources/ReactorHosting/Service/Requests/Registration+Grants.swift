internal import JSONCoding
internal import Sessions
internal import Storage

// The pulses that a client may see, and the cases of actions that it may post.
extension Registration {
    /// The pulses of a stream: a bit for each that the client may see, of all pulses or of those
    /// with these names; and the names that are pulses.
    func pulses(named names: [String], for grants: Grants?) -> (bits: UInt64, known: [String]) {
        var (bits, known): (UInt64, [String]) = (0, [])
        for (index, name) in pulses.enumerated() {
            let isNamed = names.firstIndex(exactly: name) != nil
            if isNamed { known.append(name) }
            guard names.isEmpty || isNamed, grants?.permits(pulse: name) ?? true else { continue }
            bits |= 1 << UInt64(index)
        }
        return (bits, known)
    }

    /// - Throws: 403 if one of the actions has a case that is not granted, and for an action of
    ///   which the case cannot be known; 400 if the body is not JSON; 413 for a batch with more
    ///   actions than the limit.
    func check(_ body: JSONBody, batchLimit: Int, against grants: Grants) throws(ActionRefusal) {
        guard !JSON.isArray(body, longerThan: batchLimit) else {
            throw .tooMany(limit: batchLimit)
        }
        let names =
            hasTaggedActions
            ? try names(of: TaggedAction.self, in: body) : try names(of: PlainAction.self, in: body)
        for names in names {
            guard !names.isEmpty, names.allSatisfy({ grants.permits(action: $0) }) else {
                throw .forbidden
            }
        }
    }

    private func names<Action: NamedAction>(
        of type: Action.Type, in body: JSONBody
    ) throws(ActionRefusal) -> [[String]] {
        do {
            guard JSON.isArray(body) else { return [try JSON.decode(type, from: body).names] }
            return try JSON.decode([Action].self, from: body).map(\.names)
        } catch {
            throw .json(error)
        }
    }
}

/// The names of the cases as which an action may be decoded; none if it cannot be known.
private protocol NamedAction: Decodable {
    var names: [String] { get }
}

/// An action that its `type` names. Without values it may be its name alone.
private struct TaggedAction: NamedAction {
    let names: [String]

    init(from decoder: any Decoder) {
        if let members = try? decoder.container(keyedBy: AnyMember.self) {
            let name = try? members.decode(String.self, forKey: AnyMember(stringValue: "type"))
            names = name.map { [$0] } ?? []
        } else {
            names = caseName(decoder)
        }
    }
}

/// An action in Swift's default form: all its members, because its decoder ignores others.
private struct PlainAction: NamedAction {
    let names: [String]

    init(from decoder: any Decoder) {
        if let members = try? decoder.container(keyedBy: AnyMember.self) {
            names = members.allKeys.map(\.stringValue)
        } else {
            names = caseName(decoder)
        }
    }
}

private func caseName(_ decoder: any Decoder) -> [String] {
    let name = try? decoder.singleValueContainer().decode(String.self)
    return name.map { [$0] } ?? []
}
