internal import JSONCoding

extension Registration {
    /// The names of the action cases in the examples, in order, without repetitions: the value of
    /// `type`, or the only key of an enum that is coded in Swift's default form.
    ///
    /// Decodes the examples each time: it is used for the text of errors only.
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
