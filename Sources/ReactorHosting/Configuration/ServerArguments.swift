internal import ArgumentParser

/// The options of the command line: one for each setting.
///
/// Why by hand: ArgumentParser finds a type's options by reflection and decodes each by its name.
/// The generated conformance would need a property for each option, a second declaration of each
/// setting. (Verified with ArgumentParser 1.8; a test parses every option.)
struct ServerArguments: ParsableArguments, CustomReflectable {
    /// The texts from the command line, by option name. ``Setting`` interprets them.
    private(set) var typed: [String: String] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let options = try decoder.container(keyedBy: OptionName.self)
        for setting in Setting.table {
            let option = try options.decode(
                Option<String?>.self, forKey: OptionName(stringValue: setting.name))
            typed[setting.name] = option.wrappedValue
        }
    }

    var customMirror: Mirror {
        Mirror(self, children: Setting.table.map { ($0.name, Self.option($0)) })
    }

    private static func option(_ setting: Setting) -> Option<String?> {
        let help = ArgumentHelp(
            "\(setting.help) (\(setting.environmentName); default: \(setting.defaultText))",
            valueName: setting.placeholder)
        return Option(name: .customLong(setting.name), help: help)
    }

    private struct OptionName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
