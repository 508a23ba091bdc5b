/// A setting with its present value and the origin of that.
package struct SettingValue: Sendable {
    package let setting: Setting
    /// The value as a user would type it; nil if there is none.
    fileprivate let text: String?
    package let source: SettingSource

    init(setting: Setting, text: String?, source: SettingSource) {
        self.setting = setting
        self.text = text
        self.source = source
    }

    /// The value, with `***` in place of a password in a URL. All other secrets are in files.
    package var shownText: String? { text.map(Self.masked) }

    var isShownWhole: Bool { shownText == text }

    func hasValue(of other: SettingValue) -> Bool { text == other.text }

    private static let mask = "***"

    /// The text without passwords: neither that of `scheme://user:password@host`, nor those in
    /// `password=…` of a query or a list of words.
    ///
    /// The database's own library masks its address, because only its parser knows where a password
    /// is. An address that it cannot read is masked as a whole, and so is every such address in a
    /// program without the library.
    ///
    /// Why up to the last `@`: a password that is not percent-encoded may have any character.
    package static func masked(_ text: String) -> String {
        if let scheme = JournalEngine.scheme(of: text) {
            return JournalEngine.ofProgram?.mask(text) ?? "\(scheme)://\(mask)"
        }
        var rest = text[...]
        var masked = ""
        if let scheme = text.firstRange(of: "://") {
            let start = scheme.upperBound
            if let end = text[start...].lastIndex(of: "@"),
                let colon = text[start..<end].firstIndex(of: ":")
            {
                masked = text[...colon] + mask
                rest = text[end...]
            }
        }
        while let name = rest.firstRange(of: "password=") {
            masked += rest[..<name.upperBound] + mask
            rest = rest[name.upperBound...].drop { $0 != "&" && $0 != " " }
        }
        return masked + rest
    }
}

package enum SettingSource: Sendable, Equatable {
    case standard
    case file(path: String, line: Int)
    case environment
    case option

    /// The origin, as `config show` prints it.
    package func description(of setting: Setting) -> String {
        switch self {
        case .standard: "default"
        case .file(let path, let line): "\(path):\(line)"
        case .environment: setting.environmentName
        case .option: "--\(setting.name)"
        }
    }

    func sentence(_ setting: Setting) -> String {
        if case .file = self { return "\(description(of: setting)): \(setting.name)" }
        return description(of: setting)
    }
}

struct SettingSources: Sendable {
    var options: [String: String] = [:]
    /// Texts by variable name; an empty one counts as not set.
    var environment: [String: String] = [:]
    var file: SettingsFile?
    /// The values at the start of the process, by name: a setting that is not reloaded keeps them.
    var pinned: [String: SettingValue] = [:]

    /// The text with which the setting's value began; nil if it may change.
    func pinnedText(of setting: Setting) -> String?? {
        guard !setting.isReloaded, let value = pinned[setting.name] else { return nil }
        return .some(value.text)
    }

    /// Whether a variable's value is the address of a service: Kubernetes sets `REACTOR_PORT` in
    /// every container of a namespace with a Service named `reactor`, as Docker's links did.
    static func isServiceLink(_ text: String) -> Bool {
        ["tcp://", "udp://", "sctp://"].contains { text.hasPrefix($0) }
    }

    /// The text for a setting: of its option, else of its variable, else of its line in the file.
    func text(of setting: Setting) -> (text: String, source: SettingSource)? {
        if let text = options[setting.name] { return (text, .option) }
        if let text = environment[setting.environmentName], !text.isEmpty, !Self.isServiceLink(text)
        {
            return (text, .environment)
        }
        guard let file, let entry = file.entries[setting.name] else { return nil }
        return (entry.text, .file(path: file.path, line: entry.line))
    }
}
