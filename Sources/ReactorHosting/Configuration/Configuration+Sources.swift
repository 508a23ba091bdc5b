/// Every value that was refused, so that a person mends them in one go.
public struct ConfigurationFailure: Error, CustomStringConvertible, Sendable, Equatable {
    /// One sentence for each bad value, naming where it came from.
    public var sentences: [String]

    /// The sentences, a line each.
    public var description: String { sentences.joined(separator: "\n") }
}

extension Configuration {
    /// Reads what was typed, then the environment; what was typed wins. Empty variables count as
    /// not set.
    ///
    /// - Throws: ``ConfigurationFailure`` with every bad value at once.
    package init(
        typed: [String: String], environment: [String: String]
    ) throws(ConfigurationFailure) {
        self.init()
        var sentences: [String] = []
        for setting in Setting.table {
            let fromEnvironment = environment[setting.environmentName].flatMap {
                $0.isEmpty ? nil : $0
            }
            guard let text = typed[setting.name] ?? fromEnvironment else { continue }
            guard let expected = setting.apply(text, &self) else { continue }
            let place =
                typed[setting.name] != nil ? "--\(setting.name)" : setting.environmentName
            sentences.append("\(place) is \"\(text)\": expected \(expected)")
        }
        guard sentences.isEmpty else { throw ConfigurationFailure(sentences: sentences) }
    }

    /// Variables that look like settings and are none. They are warned of and not refused:
    /// some platforms put `REACTOR_…` variables of their own into every container.
    package static func unknownVariables(in environment: [String: String]) -> [String] {
        let known = Set(Setting.table.map(\.environmentName))
        return environment.keys.filter { $0.hasPrefix("REACTOR_") && !known.contains($0) }.sorted()
            .map { "\($0) is set, but there is no such setting; see --help" }
    }
}
