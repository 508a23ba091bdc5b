import Synchronization

/// Collects the settings while a ``Configuration`` is made, and replaces defaults by given texts.
///
/// Why a task-local value: the initial value of a property cannot use a parameter of `init`. It is
/// set only inside ``read()``, which does not suspend.
final class SettingReader: Sendable {
    @TaskLocal static var current: SettingReader?

    private struct State {
        var values: [SettingValue] = []
        var sentences: [String] = []
    }

    private let sources: SettingSources
    private let state = Mutex(State())

    init(_ sources: SettingSources) {
        self.sources = sources
    }

    var values: [SettingValue] { state.withLock { $0.values } }

    var sentences: [String] { state.withLock { $0.sentences } }

    /// Makes a configuration from the texts; a setting with a refused text keeps its default.
    func read() -> Configuration { Self.$current.withValue(self) { Configuration() } }

    func value<Value>(
        of setting: Setting, _ standard: Value, _ kind: SettingKind<Value>
    ) -> Value {
        let given = sources.text(of: setting)
        let parsed = given.flatMap { kind.parse($0.text) }
        let value = parsed ?? standard
        state.withLock { state in
            state.values.append(
                SettingValue(
                    setting: setting, text: kind.show(value),
                    source: parsed == nil ? .standard : given?.source ?? .standard))
            guard let given, parsed == nil else { return }
            let text = SettingValue.masked(given.text)
            state.sentences.append(
                "\(given.source.sentence(setting)) is \"\(text)\": expected \(kind.expected)")
        }
        guard let pinned = sources.pinnedText(of: setting) else { return value }
        return pinned.flatMap(kind.parse) ?? standard
    }
}
