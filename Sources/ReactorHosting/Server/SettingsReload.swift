internal import Logging
internal import Synchronization

/// Reads the settings and the keys of tokens again; the server adopts what may change (ADR-0030).
final class SettingsReload: Sendable {
    private let typed: [String: String]
    private let environment: [String: String]
    /// The values of the start, by name.
    private let pinned: [String: SettingValue]
    private let makeAuthenticator: MakeAuthenticator
    private let state: Mutex<State>
    private let requests = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))

    private struct State {
        var configuration: Configuration
        var values: [SettingValue]
        var authenticator: (any Authenticator)?
    }

    typealias MakeAuthenticator = @Sendable (Configuration) async throws -> (any Authenticator)?

    /// - Parameters:
    ///   - typed: The options of the start; they keep their precedence over the file.
    ///   - makeAuthenticator: Makes the authenticator, as at the start. It reads the keys again,
    ///     even if no setting has changed.
    init(
        typed: [String: String], environment: [String: String],
        start: (configuration: Configuration, values: [SettingValue]),
        authenticator: (any Authenticator)?,
        makeAuthenticator: @escaping MakeAuthenticator
    ) {
        self.typed = typed
        self.environment = environment
        pinned = Dictionary(uniqueKeysWithValues: start.values.map { ($0.setting.name, $0) })
        self.makeAuthenticator = makeAuthenticator
        state = Mutex(
            State(
                configuration: start.configuration, values: start.values,
                authenticator: authenticator))
    }

    var present: Configuration { state.withLock { $0.configuration } }

    /// Requests a reload, from any thread. Requests during a reload become one.
    func request() { requests.continuation.yield() }

    /// Reloads at each request until the task is cancelled.
    ///
    /// - Parameter adopt: Returns when the server uses the configuration and the authenticator.
    func run(adopting adopt: (Configuration, (any Authenticator)?) async -> Void) async {
        for await _ in requests.stream { await reload(adopt) }
    }

    private func reload(
        _ adopt: (Configuration, (any Authenticator)?) async -> Void
    ) async {
        let old = state.withLock { $0 }
        do throws(ConfigurationFailure) {
            let new = try Configuration.read(
                typed: typed, environment: environment, pinned: pinned)
            let authenticator = try await authenticator(
                new.configuration, isExpected: old.authenticator != nil)
            await adopt(new.configuration, authenticator)
            let adopted = State(
                configuration: new.configuration, values: new.values, authenticator: authenticator)
            state.withLock { $0 = adopted }
            log(adopted, after: old)
        } catch {
            let logger = old.configuration.logger
            for sentence in error.sentences {
                logger.error(
                    "the settings were not reloaded, and nothing has changed",
                    metadata: ["fault": "\(sentence)"])
            }
        }
    }

    /// The number and the names of the keys, for a line of the log.
    static func keys(_ authenticator: any Authenticator) -> Logger.MetadataValue {
        let names = authenticator.keyNames
        return "\(names.count)\(names.isEmpty ? "" : ": ")\(names.joined(separator: ", "))"
    }

    /// - Throws: The reason why there is none, as the only sentence.
    private func authenticator(
        _ configuration: Configuration, isExpected: Bool
    ) async throws(ConfigurationFailure) -> (any Authenticator)? {
        let authenticator: (any Authenticator)?
        do {
            authenticator = try await makeAuthenticator(configuration)
        } catch {
            throw ConfigurationFailure(sentences: ["\(error)"])
        }
        guard (authenticator != nil) == isExpected else {
            throw ConfigurationFailure(
                sentences: ["authentication can be turned on or off only with a restart"])
        }
        return authenticator
    }

    private func log(_ new: State, after old: State) {
        let logger = new.configuration.logger
        func list(_ values: [SettingValue]) -> Logger.MetadataValue {
            let texts = values.map { "\($0.setting.name) = \($0.shownText ?? "none")" }
            return "\(texts.isEmpty ? "none" : texts.joined(separator: ", "))"
        }
        let files = [old, new].map { ($0.authenticator as? any FileAuthenticator)?.files ?? [:] }
        let adopted = zip(old.values, new.values).filter { old, new in
            let name = new.setting.name
            return new.setting.isReloaded
                && (!old.hasValue(of: new) || files[0][name] != files[1][name])
        }
        var metadata: Logger.Metadata = ["changed": list(adopted.map(\.1))]
        if let authenticator = new.authenticator { metadata["keys"] = Self.keys(authenticator) }
        logger.notice("the settings were reloaded", metadata: metadata)
        // Not compared with the last reload: they need the restart still.
        let waiting = new.values.filter {
            !$0.setting.isReloaded && !(pinned[$0.setting.name]?.hasValue(of: $0) ?? true)
        }
        guard !waiting.isEmpty else { return }
        logger.warning(
            "these settings have changed and need a restart", metadata: ["changed": list(waiting)])
    }
}
