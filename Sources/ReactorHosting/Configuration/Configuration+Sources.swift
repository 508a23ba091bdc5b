/// Every refused value, so that all of them can be corrected at once.
public struct ConfigurationFailure: Error, CustomStringConvertible, Sendable, Equatable {
    /// One sentence for each refused value, naming its source.
    public var sentences: [String]

    /// The sentences, one per line.
    public var description: String { sentences.joined(separator: "\n") }
}

extension Configuration {
    /// Reads options, variables and the file that they name, in this order of precedence. An empty
    /// variable counts as not set. Throws ``ConfigurationFailure`` with every refused value.
    package init(
        typed: [String: String], environment: [String: String]
    ) throws(ConfigurationFailure) {
        self = try Self.read(typed: typed, environment: environment).configuration
    }

    /// The configuration, and the settings with their values and origins.
    ///
    /// - Parameter pinned: The values at the start of the process, by name. In the configuration,
    ///   but not in the values beside it, a setting that is not reloaded keeps them.
    package static func read(
        typed: [String: String], environment: [String: String],
        pinned: [String: SettingValue] = [:]
    ) throws(ConfigurationFailure) -> (configuration: Configuration, values: [SettingValue]) {
        var sources = SettingSources(options: typed, environment: environment, pinned: pinned)
        var sentences = RemovedSetting.refusals(options: typed, environment: environment)
        if let path = SettingReader(sources).read().configPath {
            do {
                let file = try SettingsFile.read(path)
                sentences += file.sentences
                sources.file = file
            } catch {
                sentences += error.sentences
            }
        }
        let reader = SettingReader(sources)
        let configuration = reader.read()
        sentences += reader.sentences
        guard sentences.isEmpty else { throw ConfigurationFailure(sentences: sentences) }
        return (configuration, reader.values)
    }

    /// A warning for each `REACTOR_…` variable that is not a setting, or that has the address of a
    /// service as its value. No error: some platforms set such variables in every container.
    package static func unknownVariables(in environment: [String: String]) -> [String] {
        var known = Set(
            (Setting.table + RemovedSetting.table.map(\.setting)).map(\.environmentName)
                + SessionCommand.variables)
        if SettingConstants.areAdjustable { known.insert(SettingConstants.variable) }
        return environment.keys.filter { $0.hasPrefix("REACTOR_") }.sorted().compactMap { name in
            if let text = environment[name], SettingSources.isServiceLink(text) {
                return """
                    \(name) is \(text.prefix(64)), the address of a service that the platform sets, not \
                    a setting: it is ignored
                    """
            }
            return known.contains(name)
                ? nil : "\(name) is set, but there is no such setting; see --help"
        }
    }
}
