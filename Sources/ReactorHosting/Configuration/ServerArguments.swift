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
            let key = OptionName(stringValue: setting.name)
            if setting.isFlag {
                let flag = try options.decode(Flag<Bool>.self, forKey: key)
                if flag.wrappedValue { typed[setting.name] = "on" }
            } else {
                typed[setting.name] = try options.decode(Option<String?>.self, forKey: key)
                    .wrappedValue
            }
        }
    }

    var customMirror: Mirror {
        Mirror(
            self,
            children: Setting.table.map { ($0.name, $0.isFlag ? Self.flag($0) : Self.option($0)) })
    }

    private static func option(_ setting: Setting) -> Any {
        Option<String?>(name: .customLong(setting.name), help: help(setting))
    }

    private static func flag(_ setting: Setting) -> Any {
        Flag(wrappedValue: false, name: .customLong(setting.name), help: help(setting))
    }

    private static func help(_ setting: Setting) -> ArgumentHelp {
        ArgumentHelp(
            "\(setting.help) (\(setting.environmentName); default: \(setting.defaultText))",
            valueName: setting.isFlag ? nil : setting.placeholder)
    }

    private struct OptionName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
