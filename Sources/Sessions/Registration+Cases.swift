internal import JSONCoding

extension Registration {
    /// The names of the action cases that the examples show, in their order, each once: what stands
    /// in `type`, or the one member of an enum that is coded in Swift's own form.
    ///
    /// Reads the examples anew each time: it is for the text of errors.
    package var exampleCases: [String] {
        var names: [String] = []
        for example in examples {
            guard let members = JSON.members(of: example),
                let name = tag(of: members) ?? (members.count == 1 ? members.keys.first : nil),
                !names.contains(name)
            else { continue }
            names.append(name)
        }
        return names
    }

    private func tag(of members: [String: [UInt8]]) -> String? {
        members["type"].flatMap { try? JSON.decode(String.self, from: $0) }
    }
}
