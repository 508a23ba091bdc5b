// Design: a setting is declared once, as the initial value of its property in `Configuration`:
//
//     public var retry: Duration = Setting.time(
//         Group.Sessions.retry, default: .seconds(2), "reconnection time …", reloads: true)
//
// Each of these functions returns the property's value. While a `SettingReader` is active, it
// collects the declaration for `--help` or replaces the default by a given text. So the
// `Configuration.init()` that the compiler writes is the table, the parser and the defaults.

/// A setting as shown in `--help` and on the page of settings.
package struct Setting: Sendable {
    /// The option's name without its dashes.
    package let name: String
    /// The name of the value in `--help`.
    package let placeholder: String
    /// The default as a user would type it.
    package let defaultText: String
    package let help: String
    /// When an operator changes it: `when …`. Nil for a constant.
    package let change: String?
    /// Whether the option has no value: `--name` is `on`. The variable's value is `on` or `off`.
    package var isFlag = false
    /// A running server adopts a changed value when it reloads its settings (ADR-0030).
    package var isReloaded = false
    /// No setting, but a constant that tests change (``SettingConstants``).
    var isConstant = false

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
}

// One function for each kind of value. `reloads` marks a setting that a running server adopts; each
// use of such a setting reads the present configuration of its loop (`LoopResources`), or is
// brought up to date by `ServerLoop.adopt` or `RunningServer.adopt`.
extension Setting {
    static func text(
        _ name: some SettingGroup, _ placeholder: String, default standard: String, _ help: String,
        change: String? = nil,
        reloads: Bool = false
    ) -> String {
        let setting = Setting(
            name, placeholder: placeholder, defaultText: standard, help: help, change: change,
            isReloaded: reloads)
        return setting.value(standard, expected: textExpected, show: { $0 }) {
            isPrintable($0) ? $0 : nil
        }
    }

    static func host(
        _ name: some SettingGroup, default standard: String, _ help: String, change: String? = nil
    ) -> String {
        let setting = Setting(
            name, placeholder: "address", defaultText: standard, help: help, change: change)
        let expected = "an address, a host name or unix:PATH"
        return setting.value(standard, expected: expected, show: { $0 }) {
            isPrintable($0) && $0 != Configuration.unixPrefix ? $0 : nil
        }
    }

    static func optionalText(
        _ name: some SettingGroup, _ placeholder: String, _ help: String, change: String? = nil,
        reloads: Bool = false
    ) -> String? {
        let setting = Setting(
            name, placeholder: placeholder, defaultText: "none", help: help, change: change,
            isReloaded: reloads)
        return setting.value(nil, expected: textExpected, show: { $0 }) {
            isPrintable($0) ? .some($0) : nil
        }
    }

    /// Texts separated by commas, with optional spaces.
    ///
    /// - Parameters:
    ///   - expected: Describes one text.
    ///   - parse: Returns nil for a text that is refused.
    static func list(
        _ name: some SettingGroup, _ placeholder: String, expected: String, _ help: String,
        change: String? = nil,
        reloads: Bool = false, _ parse: (Substring) -> String?
    ) -> [String] {
        let setting = Setting(
            name, placeholder: placeholder, defaultText: "none", help: help, change: change,
            isReloaded: reloads)
        let expected = "up to \(listLimit) of \(expected), separated by commas"
        let show = { (values: [String]) in values.isEmpty ? nil : values.joined(separator: ",") }
        return setting.value([], expected: expected, show: show) { text in
            let texts = text.split(separator: ",", omittingEmptySubsequences: false)
            let values = texts.compactMap { parse($0.trimmingSpaces) }
            return values.count == texts.count && values.count <= listLimit ? values : nil
        }
    }

    /// The maximum number of texts in a list.
    static let listLimit = 64

    /// An option without a value; default off.
    static func flag(_ name: some SettingGroup, _ help: String, change: String? = nil) -> Bool {
        let setting = Setting(
            name, placeholder: name.rawValue, defaultText: "off", help: help, change: change,
            isFlag: true)
        return setting.value(false, expected: "on or off", show: { $0 ? "on" : "off" }) {
            ["on": true, "off": false][$0]
        }
    }

    /// - Parameter shownDefault: Shown instead of `standard` if that depends on the machine.
    static func number<Number: FixedWidthInteger>(
        _ name: some SettingGroup, default standard: Number, _ range: ClosedRange<Number>,
        _ help: String, change: String? = nil,
        placeholder: String = "number", shownDefault: String? = nil, reloads: Bool = false
    ) -> Number {
        let setting = Setting(
            name, placeholder: placeholder,
            defaultText: shownDefault ?? "\(standard)",
            help: help, change: change, isReloaded: reloads)
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return setting.value(standard, expected: expected, show: { String($0) }) { text in
            Number(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    static func bytes(
        _ name: some SettingGroup, default standard: Int, _ range: ClosedRange<Int>, _ help: String,
        change: String? = nil,
        reloads: Bool = false
    ) -> Int {
        number(
            name, default: standard, range, help, change: change, placeholder: "bytes",
            reloads: reloads)
    }

    /// The duration is above zero and at most a hundred days.
    static func time(
        _ name: some SettingGroup, default standard: Duration, _ help: String,
        change: String? = nil, reloads: Bool = false
    ) -> Duration {
        let setting = Setting(
            name, placeholder: "time", defaultText: DurationText.write(standard),
            help: help, change: change,
            isReloaded: reloads)
        let expected = "a time such as 500ms, 15s, 10m or 1h"
        return setting.value(standard, expected: expected, show: DurationText.write) { text in
            DurationText.parse(text).flatMap { $0 > .zero ? $0 : nil }
        }
    }

    static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: some SettingGroup, default standard: Choice, _ help: String, change: String? = nil,
        reloads: Bool = false
    ) -> Choice {
        let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        let setting = Setting(
            name, placeholder: name.rawValue, defaultText: standard.rawValue,
            help: "\(help): \(words)", change: change, isReloaded: reloads)
        return setting.value(standard, expected: "one of \(words)", show: { $0.rawValue }) {
            Choice(rawValue: $0)
        }
    }

    static func journal(
        _ name: some SettingGroup, default standard: JournalChoice, _ help: String,
        change: String? = nil
    ) -> JournalChoice {
        let setting = Setting(
            name, placeholder: name.rawValue, defaultText: standard.description,
            help: "\(help): memory, file:PATH, or postgres://ADDRESS", change: change)
        let expected = "memory, file:PATH or postgres://ADDRESS"
        return setting.value(standard, expected: expected, show: { $0.text }) { text in
            isPrintable(text) ? JournalChoice(text) : nil
        }
    }

    static func operationsAddress(
        _ name: some SettingGroup, _ help: String, change: String? = nil
    ) -> OperationsAddress? {
        address(
            name, "ADDRESS:PORT or unix:PATH", help, change,
            expected: "ADDRESS:PORT, such as 127.0.0.1:9090 or [::1]:9090, or unix:PATH",
            OperationsAddress.init)
    }

    static func linkAddress(
        _ name: some SettingGroup, _ help: String, change: String? = nil
    ) -> LinkAddress? {
        address(
            name, "ADDRESS:PORT", help, change,
            expected: "ADDRESS:PORT, such as 10.0.0.1:7080 or [::1]:7080", LinkAddress.init)
    }

    private static func address<Address: CustomStringConvertible>(
        _ name: some SettingGroup, _ form: String, _ help: String, _ change: String?,
        expected: String, _ parse: (String) -> Address?
    ) -> Address? {
        let setting = Setting(
            name, placeholder: "address", defaultText: "none", help: "\(help): \(form)",
            change: change)
        return setting.value(nil, expected: expected, show: { $0?.description }) { text in
            isPrintable(text) ? parse(text).map(Optional.some) : nil
        }
    }

    private static let textExpected = "text without control characters"

    private static func isPrintable(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// The active reader's value for this setting, or else `standard`.
    ///
    /// - Parameter show: The text of a value, as a user would type it; nil if there is none.
    private func value<Value>(
        _ standard: Value, expected: String, show: (Value) -> String?,
        _ parse: (String) -> Value?
    ) -> Value {
        guard let reader = SettingReader.current, !isConstant || SettingConstants.areAdjustable
        else { return standard }
        return reader.value(of: self, standard, expected: expected, parse, show)
    }
}

extension Setting {
    fileprivate init<Group: SettingGroup>(
        _ name: Group, placeholder: String, defaultText: String, help: String, change: String?,
        isFlag: Bool = false, isReloaded: Bool = false
    ) {
        self.init(
            name: name.rawValue, placeholder: placeholder, defaultText: defaultText, help: help,
            change: change, isFlag: isFlag,
            isReloaded: isReloaded || Group.isOfConstants,
            isConstant: Group.isOfConstants)
    }
}
