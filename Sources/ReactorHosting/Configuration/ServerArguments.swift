internal import ArgumentParser

/// The options of the command line: one for each setting, in the sections of `--help`.
struct ServerArguments: ParsableArguments {
    // ArgumentParser finds these by reflection.
    @OptionGroup(title: SettingGroups.First.title)
    private var first: GroupArguments<SettingGroups.First>
    @OptionGroup(title: SettingGroups.Addresses.title)
    private var addresses: GroupArguments<SettingGroups.Addresses>
    @OptionGroup(title: SettingGroups.Tokens.title)
    private var tokens: GroupArguments<SettingGroups.Tokens>
    @OptionGroup(title: SettingGroups.Cluster.title)
    private var cluster: GroupArguments<SettingGroups.Cluster>
    @OptionGroup(title: SettingGroups.Requests.title)
    private var requests: GroupArguments<SettingGroups.Requests>
    @OptionGroup(title: SettingGroups.Sessions.title)
    private var sessions: GroupArguments<SettingGroups.Sessions>
    @OptionGroup(title: SettingGroups.History.title)
    private var history: GroupArguments<SettingGroups.History>
    @OptionGroup(title: SettingGroups.Operation.title)
    private var operation: GroupArguments<SettingGroups.Operation>
    @OptionGroup(title: SettingGroups.Constants.title)
    private var constants: GroupArguments<SettingGroups.Constants>
    // Accepted here, and refused with a sentence of their own.
    @OptionGroup(visibility: .private)
    private var removed: GroupArguments<RemovedOptions>

    /// The texts from the command line, by option name. ``Setting`` interprets them.
    var typed: [String: String] {
        let parts = [
            first.typed, addresses.typed, tokens.typed, cluster.typed, requests.typed,
            sessions.typed, history.typed, operation.typed, constants.typed, removed.typed,
        ]
        return parts.reduce(into: [:]) { all, part in all.merge(part) { one, _ in one } }
    }
}

/// The settings whose options are one section.
protocol OptionSource {
    static var settings: [Setting] { get }
}

extension SettingGroup {
    static var settings: [Setting] {
        names.compactMap { name in Setting.table.first { $0.name == name } }
    }
}

extension SettingGroups.Constants {
    /// None in a program whose constants are constant.
    static var settings: [Setting] { SettingConstants.areAdjustable ? SettingConstants.table : [] }
}

private enum RemovedOptions: OptionSource {
    static var settings: [Setting] { RemovedSetting.refused.map(\.setting) }
}

/// The options of one section.
///
/// Why by hand: ArgumentParser finds a type's options by reflection and decodes each by its name.
/// The generated conformance would need a property for each option, a second declaration of each
/// setting. (Verified with ArgumentParser 1.8; a test parses every option.)
private struct GroupArguments<Group: OptionSource>: ParsableArguments, CustomReflectable {
    private(set) var typed: [String: String] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let options = try decoder.container(keyedBy: OptionName.self)
        for setting in Group.settings {
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
            children: Group.settings.compactMap { setting in
                DeclaredOptions.byName[setting.name].map { (label: setting.name, value: $0) }
            })
    }

    private struct OptionName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

/// The option of each setting. The options are made once, because ArgumentParser reflects a group
/// several times for each command line.
private enum DeclaredOptions {
    static let byName: [String: any Sendable] = {
        // A setting that became a constant is in both lists.
        let settings = Setting.declared + RemovedSetting.table.map(\.setting)
        return Dictionary(settings.map { ($0.name, option($0)) }) { declared, _ in declared }
    }()

    private static func option(_ setting: Setting) -> any Sendable {
        let change = setting.change.map { "; change it \($0)" } ?? ""
        let name = setting.environmentName
        let text = "\(setting.help)\(change) (\(name); default: \(setting.defaultText))"
        guard setting.isFlag else {
            return Option<String?>(
                name: .customLong(setting.name),
                help: ArgumentHelp("\(text)", valueName: setting.placeholder))
        }
        return Flag(wrappedValue: false, name: .customLong(setting.name), help: "\(text)")
    }
}
