import Synchronization

/// Collects the settings while a ``Configuration`` is made, and replaces defaults by given texts.
///
/// Why a task-local value: the initial value of a property cannot use a parameter of `init`. It is
/// set only inside ``read()``, which does not suspend.
final class SettingReader: Sendable {
    @TaskLocal static var current: SettingReader?

    private struct State {
        var settings: [Setting] = []
        var sentences: [String] = []
    }

    private let typed: [String: String]
    private let environment: [String: String]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - typed: Texts by option name; they have precedence.
    ///   - environment: Texts by variable name; an empty one counts as not set.
    init(typed: [String: String], environment: [String: String]) {
        self.typed = typed
        self.environment = environment
    }

    /// The settings in the order in which they were read.
    var settings: [Setting] { state.withLock { $0.settings } }

    /// One sentence for each refused text.
    var sentences: [String] { state.withLock { $0.sentences } }

    /// Makes a configuration from the texts; a setting with a refused text keeps its default.
    func read() -> Configuration { Self.$current.withValue(self) { Configuration() } }

    /// The value of a setting's text; nil if there is none or it is refused.
    func value<Value>(
        of setting: Setting, expected: String, _ parse: (String) -> Value?
    ) -> Value? {
        state.withLock { $0.settings.append(setting) }
        let variable = environment[setting.environmentName].flatMap { $0.isEmpty ? nil : $0 }
        guard let text = typed[setting.name] ?? variable else { return nil }
        if let value = parse(text) { return value }
        let source = typed[setting.name] != nil ? "--\(setting.name)" : setting.environmentName
        state.withLock { $0.sentences.append("\(source) is \"\(text)\": expected \(expected)") }
        return nil
    }
}
