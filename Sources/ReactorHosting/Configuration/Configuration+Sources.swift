/// Every value that was refused, so that a person can correct them all at once.
public struct ConfigurationFailure: Error, CustomStringConvertible, Sendable, Equatable {
    /// One sentence for each bad value, naming where it came from.
    public var sentences: [String]

    /// The sentences, a line each.
    public var description: String { sentences.joined(separator: "\n") }
}

extension Configuration {
    /// Reads options and environment variables; the option wins. An empty variable counts as not set.
    ///
    /// - Throws: ``ConfigurationFailure`` with every value that is refused.
    package init(
        typed: [String: String], environment: [String: String]
    ) throws(ConfigurationFailure) {
        let reader = SettingReader(typed: typed, environment: environment)
        self = reader.read()
        let sentences = reader.sentences
        guard sentences.isEmpty else { throw ConfigurationFailure(sentences: sentences) }
    }

    /// A warning for each variable that looks like a setting and is none. It is no error: some
    /// platforms set `REACTOR_…` variables of their own in every container.
    package static func unknownVariables(in environment: [String: String]) -> [String] {
        let known = Set(Setting.table.map(\.environmentName))
        return environment.keys.filter { $0.hasPrefix("REACTOR_") && !known.contains($0) }.sorted()
            .map { "\($0) is set, but there is no such setting; see --help" }
    }
}
