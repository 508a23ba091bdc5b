internal import JSONCoding
internal import Sessions

// The cases of posted actions, for clients that may post some of them only.
extension Registration {
    /// - Throws: 403 if one of the actions has a case that is not granted, and for an action of
    ///   which the case cannot be known; 400 if the body is not JSON.
    func check(_ body: [UInt8], against grants: Grants) throws(Problem) {
        let value: JSONValue
        do {
            value = try JSON.decode(JSONValue.self, from: body)
        } catch {
            throw Problem(error)
        }
        let actions: [JSONValue] = if case .array(let batch) = value { batch } else { [value] }
        for action in actions {
            let names = caseNames(of: action)
            guard !names.isEmpty, names.allSatisfy({ grants.permits(action: $0) }) else {
                throw .forbidden
            }
        }
    }

    /// The name of the action's case. Of an object in Swift's default form all names, because its
    /// decoder ignores those that are no cases.
    private func caseNames(of action: JSONValue) -> [String] {
        switch action {
        case .string(let name): return [name]
        case .object(let members):
            guard hasTaggedActions else { return members.map(\.key) }
            guard case .string(let name)? = action["type"] else { return [] }
            return [name]
        default: return []
        }
    }
}
