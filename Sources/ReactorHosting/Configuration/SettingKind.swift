/// How the values of a setting are written.
struct SettingKind<Value> {
    /// The name of the value in `--help`; nil for that of the setting.
    var placeholder: String?
    /// Shown after the setting's help.
    var forms: String?
    /// Whether the option has no value.
    var isFlag = false
    /// Describes the accepted texts, in the sentence that refuses another one.
    let expected: String
    /// The text of a value, as a user would type it; nil if there is none.
    let show: (Value) -> String?
    /// The value of a text; nil for a text that is refused.
    let parse: (String) -> Value?
}

extension SettingKind {
    /// A value of this kind, or none.
    static func optional<Wrapped>(_ kind: SettingKind<Wrapped>) -> SettingKind
    where Value == Wrapped? {
        SettingKind(
            placeholder: kind.placeholder, forms: kind.forms, expected: kind.expected,
            show: { $0.flatMap(kind.show) }, parse: { kind.parse($0).map(Optional.some) })
    }

    /// Text of one line.
    fileprivate static func line(
        _ placeholder: String?, forms: String? = nil, expected: String,
        show: @escaping (Value) -> String, _ parse: @escaping (String) -> Value?
    ) -> SettingKind {
        SettingKind(placeholder: placeholder, forms: forms, expected: expected, show: show) {
            !$0.isEmpty && $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } ? parse($0) : nil
        }
    }
}

extension SettingKind<String> {
    static func text(_ placeholder: String) -> SettingKind {
        line(placeholder, expected: "text without control characters", show: { $0 }) { $0 }
    }

    static var host: SettingKind {
        line("address", expected: "an address, a host name or unix:PATH", show: { $0 }) {
            $0 == Configuration.unixPrefix ? nil : $0
        }
    }
}

extension SettingKind<[String]> {
    /// Texts separated by commas, with optional spaces.
    ///
    /// - Parameters:
    ///   - description: Describes the texts.
    ///   - parse: Returns nil for a text that is refused.
    static func list(
        _ placeholder: String, of description: String, _ parse: @escaping (Substring) -> String?
    ) -> SettingKind {
        let limit = Setting.listLimit
        return SettingKind(
            placeholder: placeholder,
            expected: "up to \(limit) of \(description), separated by commas",
            show: { $0.isEmpty ? nil : $0.joined(separator: ",") },
            parse: { text in
                let texts = text.split(separator: ",", omittingEmptySubsequences: false)
                let values = texts.compactMap { parse($0.trimmingSpaces) }
                return values.count == texts.count && values.count <= limit ? values : nil
            })
    }
}

extension Setting {
    /// The maximum number of texts in a list.
    static let listLimit = 64
}

extension SettingKind<Bool> {
    static var flag: SettingKind {
        SettingKind(isFlag: true, expected: "on or off", show: { $0 ? "on" : "off" }) {
            ["on": true, "off": false][$0]
        }
    }
}

extension SettingKind where Value: FixedWidthInteger {
    static func number(
        _ range: ClosedRange<Value>, placeholder: String = "number"
    ) -> SettingKind {
        SettingKind(
            placeholder: placeholder,
            expected: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            show: { "\($0)" }, parse: { Value($0).flatMap { range.contains($0) ? $0 : nil } })
    }

    static func bytes(_ range: ClosedRange<Value>) -> SettingKind {
        number(range, placeholder: "bytes")
    }
}

extension SettingKind<Duration> {
    /// The duration is above zero and at most a hundred days.
    static var time: SettingKind {
        SettingKind(
            placeholder: "time", expected: "a time such as 500ms, 15s, 10m or 1h",
            show: DurationText.write
        ) { DurationText.parse($0).flatMap { $0 > .zero ? $0 : nil } }
    }

    /// A time of at least a minute.
    static var minutes: SettingKind {
        SettingKind(
            placeholder: "time", expected: "a time of at least 1m, such as 30m or 720h",
            show: DurationText.write
        ) { DurationText.parse($0).flatMap { $0 >= .seconds(60) ? $0 : nil } }
    }
}

extension SettingKind where Value: RawRepresentable<String> & CaseIterable {
    static var choice: SettingKind {
        let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return SettingKind(
            forms: words, expected: "one of \(words)", show: { $0.rawValue },
            parse: { Value(rawValue: $0) })
    }
}

extension SettingKind<JournalChoice> {
    static var journal: SettingKind {
        line(
            nil, forms: "memory, file:PATH, or postgres://ADDRESS",
            expected: "memory, file:PATH or postgres://ADDRESS", show: { $0.text },
            JournalChoice.init)
    }
}

extension SettingKind<OperationsAddress> {
    static var operationsAddress: SettingKind {
        line(
            "address", forms: "ADDRESS:PORT or unix:PATH",
            expected: "ADDRESS:PORT, such as 127.0.0.1:9090 or [::1]:9090, or unix:PATH",
            show: { $0.description }, OperationsAddress.init)
    }
}

extension SettingKind<LinkAddress> {
    static var linkAddress: SettingKind {
        line(
            "address", forms: "ADDRESS:PORT",
            expected: "ADDRESS:PORT, such as 10.0.0.1:7080 or [::1]:7080",
            show: { $0.description }, LinkAddress.init)
    }
}
