internal import ArgumentParser

/// The options of the command line: one for each setting, in the sections of `--help`.
struct ServerArguments: ParsableArguments {
    // ArgumentParser finds these by reflection, and their options by their types.
    @OptionGroup(title: SettingGroup.first.rawValue) private var first: Options<First>
    @OptionGroup(title: SettingGroup.addresses.rawValue) private var addresses: Options<Addresses>
    @OptionGroup(title: SettingGroup.tokens.rawValue) private var tokens: Options<Tokens>
    @OptionGroup(title: SettingGroup.cluster.rawValue) private var cluster: Options<Cluster>
    @OptionGroup(title: SettingGroup.requests.rawValue) private var requests: Options<Requests>
    @OptionGroup(title: SettingGroup.sessions.rawValue) private var sessions: Options<Sessions>
    @OptionGroup(title: SettingGroup.history.rawValue) private var history: Options<History>
    @OptionGroup(title: SettingGroup.operation.rawValue) private var operation: Options<Operation>
    @OptionGroup(title: SettingGroup.constants.rawValue) private var constants: Options<Constants>
    @OptionGroup(visibility: .private) private var removed: Options<Removed>

    /// The texts from the command line, by option name. ``Setting`` interprets them.
    var typed: [String: String] {
        let parts = [
            first.typed, addresses.typed, tokens.typed, cluster.typed, requests.typed,
            sessions.typed, history.typed, operation.typed, constants.typed, removed.typed,
        ]
        return parts.reduce(into: [:]) { all, part in all.merge(part) { one, _ in one } }
    }
}

private protocol GroupType { static var group: SettingGroup { get } }

private enum First: GroupType { static let group = SettingGroup.first }
private enum Addresses: GroupType { static let group = SettingGroup.addresses }
private enum Tokens: GroupType { static let group = SettingGroup.tokens }
private enum Cluster: GroupType { static let group = SettingGroup.cluster }
private enum Requests: GroupType { static let group = SettingGroup.requests }
private enum Sessions: GroupType { static let group = SettingGroup.sessions }
private enum History: GroupType { static let group = SettingGroup.history }
private enum Operation: GroupType { static let group = SettingGroup.operation }
private enum Constants: GroupType { static let group = SettingGroup.constants }
private enum Removed: GroupType { static let group = SettingGroup.removed }

/// The options of one section.
///
/// Why by hand: ArgumentParser finds a type's options by reflection and decodes each by its name.
/// The generated conformance would need a property for each option, a second declaration of each
/// setting. (Verified with ArgumentParser 1.8; a test parses every option.)
private struct Options<Section: GroupType>: ParsableArguments, CustomReflectable {
    private static var settings: [Setting] { Section.group.options }

    private(set) var typed: [String: String] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let options = try decoder.container(keyedBy: OptionName.self)
        for setting in Self.settings {
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
            children: Self.settings.compactMap { setting in
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
