/// A setting of an earlier version. Its option, variable or line is refused with a sentence that
/// names what replaced it (ADR-0074).
struct RemovedSetting: Sendable {
    /// The option's name without its dashes.
    let name: String
    /// The end of the sentence that refuses the setting: what to use instead.
    let replacement: String
    /// Whether the option had no value.
    var isFlag = false

    private init(_ name: String, _ replacement: String, isFlag: Bool = false) {
        (self.name, self.replacement, self.isFlag) = (name, replacement, isFlag)
    }

    /// All of them. The start and `config check` read the same table.
    static let table: [RemovedSetting] = [
        // Two settings that were one idea.
        RemovedSetting("unix", "use --host unix:PATH"),
        RemovedSetting(
            "proxy-protocol", "a trusted proxy names its client in X-Forwarded-For", isFlag: true),
        RemovedSetting(
            "client-address-field", "a trusted proxy names its client in X-Forwarded-For"),
        RemovedSetting("jwt-jwks-file", "--jwt-key-file takes a JWKS file, too"),
        RemovedSetting(
            "request-timeout", "--stall-timeout is the time of a request, too"),
        RemovedSetting("console-read-only", "use --console read-only", isFlag: true),
        // Constants.
        constant("jwt-leeway", "30 seconds"),
        constant("head-limit", "16384 bytes"),
        constant("answer-budget", "48 MiB, or three times --state-limit if that is more"),
        constant("body-rate", "4096 bytes per second"),
        constant("batch-limit", "1000 actions; --body-limit bounds a batch as well"),
        constant("request-burst", "100 requests, or one second of --request-rate if that is more"),
        constant("subscriber-limit", "32768 streams of one session"),
        constant("stream-sessions", "100 sessions of one stream"),
        constant("spread-from", "256 streams of one session"),
        constant("keep-records", "1000 records; --keep-bytes bounds them as well"),
        constant(
            "history-records",
            "100000 records; --history-bytes and --history-age bound them as well"),
        constant("slow-turn", "100ms"),
        constant("stuck-limit", "10s"),
        constant("poller", "the best one of the platform"),
    ]

    private static func constant(_ name: String, _ value: String) -> RemovedSetting {
        RemovedSetting(name, "it is always \(value)")
    }

    func refusal(of subject: String) -> String {
        "\(subject) is no longer a setting: \(replacement)"
    }

    /// The removed settings that are refused: all, or all but the constants that tests change.
    static var refused: [RemovedSetting] {
        guard SettingConstants.areAdjustable else { return table }
        return table.filter { removed in
            !SettingConstants.table.contains { $0.name == removed.name }
        }
    }

    static func refusals(
        options: [String: String], environment: [String: String]
    ) -> [String] {
        refused.flatMap { removed -> [String] in
            let setting = removed.setting
            var subjects = options[removed.name].map { _ in ["--\(removed.name)"] } ?? []
            let text = environment[setting.environmentName] ?? ""
            if !text.isEmpty, !SettingSources.isServiceLink(text) {
                subjects.append(setting.environmentName)
            }
            return subjects.map(removed.refusal)
        }
    }

    /// The option that the command line still accepts, in order to refuse it with its own sentence.
    var setting: Setting {
        Setting(
            group: .removed, name: name, placeholder: "value", defaultText: "none",
            help: "removed", isFlag: isFlag)
    }
}
