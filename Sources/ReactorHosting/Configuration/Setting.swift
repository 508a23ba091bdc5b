// Design: a setting is declared once, as the initial value of its property in `Configuration`:
//
//     public var retry: Duration = Setting.value(
//         .sessions, "retry", .time, default: .seconds(2), "reconnection time …", reloads: true)
//
// `Setting.value` returns the property's value. While a `SettingReader` is active, it collects the
// declaration for `--help` or replaces the default by a given text. So the `Configuration.init()`
// that the compiler writes is the table, the parser and the defaults.

/// A setting as shown in `--help` and on the page of settings.
package struct Setting: Sendable {
    let group: SettingGroup
    /// The option's name without its dashes.
    package let name: String
    /// The name of the value in `--help`.
    package let placeholder: String
    /// The default as a user would type it.
    package let defaultText: String
    package let help: String
    /// When an operator changes it: `when …`. Nil for a constant.
    package var change: String?
    /// Whether the option has no value: `--name` is `on`. The variable's value is `on` or `off`.
    package var isFlag = false
    /// A running server adopts a changed value when it reloads its settings (ADR-0030).
    package var isReloaded = false

    /// No setting, but a constant that tests change (``SettingConstants``).
    var isConstant: Bool { group == .constants }

    /// The variable's name: `REACTOR_` and the option's name in upper case, with underscores.
    package var environmentName: String {
        "REACTOR_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    /// Every setting, in the order of the properties of ``Configuration``.
    package static let table: [Setting] = declared.filter { !$0.isConstant }

    static let declared: [Setting] = {
        let reader = SettingReader(SettingSources())
        SettingConstants.$areAdjustable.withValue(true) { _ = reader.read() }
        return reader.values.map(\.setting)
    }()

    /// Declares a setting: the active reader's value for it, or else the default.
    ///
    /// - Parameters:
    ///   - change: When an operator changes it; nil for a constant.
    ///   - shownDefault: Shown instead of the default if that depends on the machine.
    ///   - reloads: Marks a setting that a running server adopts. Each use of it reads the present
    ///     configuration of its loop (`LoopResources`), or is brought up to date by
    ///     `ServerLoop.adopt` or `RunningServer.adopt`.
    static func value<Value>(
        _ group: SettingGroup, _ name: String, _ kind: SettingKind<Value>, default standard: Value,
        _ help: String, change: String? = nil, shownDefault: String? = nil, reloads: Bool = false
    ) -> Value {
        guard let reader = SettingReader.current,
            group != .constants || SettingConstants.areAdjustable
        else { return standard }
        let setting = Setting(
            group: group, name: name, placeholder: kind.placeholder ?? name,
            defaultText: shownDefault ?? kind.show(standard) ?? "none",
            help: help + (kind.forms.map { ": \($0)" } ?? ""), change: change,
            isFlag: kind.isFlag, isReloaded: reloads || group == .constants)
        return reader.value(of: setting, standard, kind)
    }
}
