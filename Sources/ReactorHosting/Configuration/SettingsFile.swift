/// The file of `--config`: lines such as `retry = 3s`, empty lines, and comments that begin with
/// `#`. A name is that of an option, without its dashes.
///
/// A value is the rest of its line, trimmed; it has no quotes, no escapes and no comment behind it.
struct SettingsFile: Sendable {
    static let limitBytes = 65_536
    /// Further faults are counted.
    static let shownFaults = 20

    let path: String
    private(set) var entries: [String: (text: String, line: Int)] = [:]
    private(set) var sentences: [String] = []

    init(path: String, bytes: [UInt8]) {
        self.path = path
        var faults = 0
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard let fault = addLine(line, number: index + 1) else { continue }
            faults += 1
            if faults <= Self.shownFaults { sentences.append("\(path):\(index + 1): \(fault)") }
        }
        if faults > Self.shownFaults {
            sentences.append("\(path): \(faults - Self.shownFaults) more lines are refused")
        }
    }

    /// Adds the setting of a line; returns a sentence if the line is refused.
    private mutating func addLine(_ bytes: ArraySlice<UInt8>, number: Int) -> String? {
        guard let line = String(validating: bytes, as: UTF8.self) else { return "it is not UTF-8" }
        let text = line.trimmed(while: Self.isBlank)
        guard !text.isEmpty, text.first != "#" else { return nil }
        guard let equals = text.firstIndex(of: "=") else { return "expected NAME = VALUE" }
        let name = String(text[..<equals].trimmed(while: Self.isBlank))
        let value = String(text[text.index(after: equals)...].trimmed(while: Self.isBlank))
        guard name != "config" else { return "the file cannot name another one" }
        if let removed = RemovedSetting.refused.first(where: { $0.name == name }) {
            return removed.refusal(of: name)
        }
        let settings = SettingConstants.areAdjustable ? Setting.declared : Setting.table
        guard settings.contains(where: { $0.name == name }) else {
            return "there is no setting \"\(name.prefix(64))\"; see --help"
        }
        guard !value.isEmpty else { return "\(name) has no value" }
        if let earlier = entries[name] { return "\(name) is already set in line \(earlier.line)" }
        entries[name] = (value, number)
        return nil
    }

    static func isBlank(_ character: Character) -> Bool { " \t\r".contains(character) }

    static func read(_ path: String) throws(ConfigurationFailure) -> SettingsFile {
        SettingsFile(
            path: path, bytes: try RegularFile.contents(of: path, limitBytes: limitBytes))
    }
}
