/// The sections of `--help` and of the page Settings, in their order, with their titles.
enum SettingGroup: String, CaseIterable, Sendable {
    case first = "Settings that matter first"
    case addresses = "Addresses, browsers and proxies"
    case tokens = "Tokens"
    case cluster = "Cluster"
    case requests = "Requests and connections"
    case sessions = "Sessions and streams"
    case history = "History"
    case operation = "Operation"
    /// No settings (``SettingConstants``).
    case constants = "Constants, which tests change"
    /// Accepted on the command line, and refused with sentences of their own.
    case removed = "Removed settings"

    /// Its options, in the order of the properties of ``Configuration``.
    var options: [Setting] {
        switch self {
        case .constants: SettingConstants.areAdjustable ? SettingConstants.table : []
        case .removed: RemovedSetting.refused.map(\.setting)
        default: Setting.table.filter { $0.group == self }
        }
    }
}
