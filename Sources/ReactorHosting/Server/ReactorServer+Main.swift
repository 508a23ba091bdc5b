internal import ArgumentParser
internal import Logging
internal import Sockets
internal import Storage
internal import Wire

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

extension ReactorServer {
    /// The library's version, as in `--version` and `/openapi.yaml`.
    public static let version = "0.1.0"

    /// A whole program: options and environment, `--help`, `--version`, `healthcheck`, the start
    /// line, and SIGTERM, SIGINT and SIGHUP, which drain. Exits with 0 after a clean end, with 64
    /// for bad options (all of them reported at once), with 1 if it cannot start or its journal
    /// cannot be closed.
    ///
    /// ```swift
    /// @main struct MyServer {
    ///     static func main() async {
    ///         await ReactorServer.main(hosting: [Hosted("alerts") { Alerts() }])
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - hosted: The reactors, each under a different name.
    ///   - authenticator: Verifies the tokens of clients. Default none: every client may make every
    ///     request.
    ///   - metrics: More metrics for `/metrics`. Default none.
    ///   - tracer: Gets the spans of requests, commits and effects. Default none.
    ///   - journals: Kinds of journals beside memory and a file: `.postgres` of ReactorPostgres.
    ///     Default none.
    ///   - program: A program that uses the server's own sessions, as for ``run(started:_:)``. If
    ///     it throws, the exit status is 1. Default none.
    public static func main(
        hosting hosted: [Hosted], authenticator: (any Authenticator)? = nil,
        metrics: (any MetricsSource)? = nil, tracer: (any RequestTracer)? = nil,
        journals: [JournalEngine] = [],
        beside program: (@Sendable (HostedSessions) async throws -> Void)? = nil
    ) async -> Never {
        await main(
            hosting: hosted, metrics: metrics, tracer: tracer, journals: journals, beside: program
        ) { _ in authenticator }
    }

    /// The same, with an authenticator that the settings determine: `--auth jwt`.
    ///
    /// - Parameters:
    ///   - hosted: The reactors, each under a different name.
    ///   - metrics: More metrics for `/metrics`. Default none.
    ///   - tracer: Gets the spans of requests, commits and effects. Default none.
    ///   - journals: Kinds of journals beside memory and a file: `.postgres` of ReactorPostgres.
    ///     Default none.
    ///   - program: As above.
    ///   - makeAuthenticator: Makes the authenticator, or returns nil for none. If it throws, the
    ///     program exits with 64.
    public static func main(
        hosting hosted: [Hosted], metrics: (any MetricsSource)? = nil,
        tracer: (any RequestTracer)? = nil, journals: [JournalEngine] = [],
        beside program: (@Sendable (HostedSessions) async throws -> Void)? = nil,
        authenticating makeAuthenticator:
            @escaping @Sendable (Configuration) async throws -> (any Authenticator)?
    ) async -> Never {
        await main(
            hosting: hosted, metrics: metrics, tracer: tracer, journals: journals, hasDemo: false,
            beside: program, authenticating: makeAuthenticator)
    }

    /// Runs the server like the method above, with or without the demonstration.
    ///
    /// - Parameter hasDemo: Whether the page `/demo` is served where the console is. It needs the
    ///   reactors `chat`, `job` and `countdown` of SampleReactors.
    package static func main(
        hosting hosted: [Hosted], metrics: (any MetricsSource)? = nil,
        tracer: (any RequestTracer)? = nil, journals: [JournalEngine] = [], hasDemo: Bool,
        beside hosting: HostingProgram? = nil,
        authenticating makeAuthenticator:
            @escaping @Sendable (Configuration) async throws -> (any Authenticator)?
    ) async -> Never {
        let program = Program(
            hosted: hosted, metrics: metrics, tracer: tracer, journals: journals, hasDemo: hasDemo,
            hosting: hosting, makeAuthenticator: makeAuthenticator)
        let isAdjustable = SettingConstants.areAdjustableByProgram
        exit(await SettingConstants.$areAdjustable.withValue(isAdjustable) { await program.run() })
    }
}

/// The parts of a server that its program chooses, besides the settings.
struct Program: Sendable {
    let hosted: [Hosted]
    let metrics: (any MetricsSource)?
    let tracer: (any RequestTracer)?
    let journals: [JournalEngine]
    let hasDemo: Bool
    /// Runs beside the server; nil for none.
    let hosting: HostingProgram?
    let makeAuthenticator: SettingsReload.MakeAuthenticator

    /// Runs the command of the command line. Returns the exit status.
    fileprivate func run() async -> Int32 {
        Standard.ignoreStraySignals()
        HeapTrimmer.boundRetainedMemory()
        JournalEngine.ofProgram = journals.first
        if let refusal = JournalCommand.refusal(of: CommandLine.arguments.dropFirst()) {
            Standard.error("error: \(refusal)\n")
            return 64
        }
        do {
            var command = try ServerCommand.parseAsRoot()
            switch command {
            case let check as HealthCheckCommand: return check.check()
            case let check as ConfigCommand.Check: return await check.run(for: self)
            case let serve as ServerCommand:
                LoggingSystem.bootstrap { LogLineHandler(label: $0) }
                let code = await serve.serve(self)
                await LogOutput.standardError.flush()
                return code
            case let rehearsal as JournalCommand.Rehearse: try rehearsal.run(hosting: hosted)
            case let retag as JournalCommand.Retag: try await retag.run(hosting: hosted)
            // A command without the program. `--help` and `help` are built into ArgumentParser.
            default: try command.run()
            }
        } catch {
            ServerCommand.exit(withError: error)
        }
        ServerCommand.exit(withError: nil)
    }
}

struct ServerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reactor-server",
        abstract: "Hosts reactors: POST actions, subscribe to pulses as Server-Sent Events.",
        discussion: """
            Every option can also be set by the environment variable named at it, or by a line \
            such as "retry = 3s" in the file of --config; the option wins, then the variable. \
            Bytes and numbers are whole; times are such as 500ms, 15s, 10m, 1h.
            """,
        version: "reactor-server \(ReactorServer.version)",
        subcommands: [
            HealthCheckCommand.self, ConfigCommand.self, JournalCommand.self, SessionCommand.self,
        ])

    @OptionGroup var arguments: ServerArguments

    func serve(_ program: Program) async -> Int32 {
        let environment = ProcessEnvironment.variables
        let settings: (configuration: Configuration, values: [SettingValue])
        do {
            settings = try Configuration.read(typed: arguments.typed, environment: environment)
        } catch {
            Standard.error("error: bad settings\n\(error)\n")
            return 64
        }
        let configuration = settings.configuration
        // From here on standard error has log lines only.
        LogOutput.standardError.format = configuration.logFormat
        let logger = configuration.logger
        for sentence in Configuration.unknownVariables(in: environment) {
            logger.warning("\(sentence)")
        }
        if let fault = AddressSpaceLimit.fault {
            logger.critical("\(fault)")
            return 1
        }
        DescriptorLimit.raise()
        FileJournal.catchFaults()
        let server: ReactorServer
        do {
            server = try await program.server(configuration)
        } catch {
            return Self.log(error, configuration)
        }
        if let authenticator = server.authenticator {
            logger.info(
                "clients are authenticated", metadata: ["keys": SettingsReload.keys(authenticator)])
        }
        let hasFiles = configuration.configPath != nil || configuration.authentication == .jwt
        let reload =
            hasFiles
            ? SettingsReload(
                typed: arguments.typed, environment: environment, start: settings,
                authenticator: server.authenticator, makeAuthenticator: program.makeAuthenticator)
            : nil
        return await Self.serve(server, configuration, reload)
    }

    /// Signals that end a server cleanly. A closed terminal sends SIGHUP; if the process was
    /// started with it ignored, as nohup(1) does, it stays ignored. With a file of settings or of
    /// keys it reloads them instead (ADR-0030).
    private static var endingSignals: [Int32] {
        [SIGTERM, SIGINT] + (SignalWatcher.isIgnored(SIGHUP) ? [] : [SIGHUP])
    }

    private static func serve(
        _ server: ReactorServer, _ configuration: Configuration, _ reload: SettingsReload?
    ) async -> Int32 {
        let (signals, signalled) = AsyncStream<Void>.makeStream()
        let watched = reload == nil ? Self.endingSignals : [SIGTERM, SIGINT, SIGHUP]
        let watcher = SignalWatcher(watched) { number in
            if number == SIGHUP, let reload { reload.request() } else { signalled.finish() }
        }
        // A reader of the start line may send a signal at once.
        await watcher.untilWatching()
        let serving = Task {
            try await server.run(reloading: reload) { addresses in
                let console = addresses.console.map { ", console: \($0)" } ?? ""
                let links = addresses.links.map { ", links: \($0)" } ?? ""
                let operations = addresses.operations.map { ", operations: \($0)" } ?? ""
                Standard.out(
                    """
                    reactor-server listening on \(addresses.main) \
                    (journal: \(configuration.journal)\(console)\(links)\(operations))

                    """)
            }
        }
        let ending = Task {
            for await _ in signals {}
            serving.cancel()
        }
        defer { ending.cancel() }
        do {
            try await serving.value
            watcher.cancel()
            return 0
        } catch {
            return log(error, configuration)
        }
    }

    /// Logs why the server does not start, or has failed.
    private static func log(_ error: any Error, _ configuration: Configuration) -> Int32 {
        for sentence in error.sentences { configuration.logger.critical("\(sentence)") }
        return error.exitStatus
    }
}

extension Error {
    /// Why a server does not start.
    var sentences: [String] { (self as? ConfigurationFailure)?.sentences ?? ["\(self)"] }

    var exitStatus: Int32 { self is ConfigurationFailure ? 64 : 1 }
}

/// `reactor-server healthcheck`: the command of the image's HEALTHCHECK.
struct HealthCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck",
        abstract: "Asks a running server for /readyz; exits 0 if it is ready, 1 if not.",
        discussion: """
            It takes the settings of the server, and these say where it asks:

            \(addressLines)
            """)

    // ArgumentParser passes a value to the command whose group has the same type as the root's. The
    // rows have no use here and are hidden.
    @OptionGroup(visibility: .hidden) var arguments: ServerArguments

    private static var addressLines: String {
        Setting.table.filter { ["host", "port", "ops-listen"].contains($0.name) }.map {
            """
            --\($0.name) <\($0.placeholder)> \($0.help) (\($0.environmentName); \
            default: \($0.defaultText))
            """
        }.joined(separator: "\n")
    }

    func check() -> Int32 {
        do {
            let configuration = try Configuration(
                typed: arguments.typed, environment: ProcessEnvironment.variables)
            var request = PlainRequest("/readyz")
            request.fields = [("Host", "localhost")]
            let exchange = try HTTPExchange(
                request, at: configuration.probeAddress, timeout: .seconds(3))
            guard exchange.head.status == 200 else {
                Standard.error("not ready: the status is \(exchange.head.status)\n")
                return 1
            }
            return 0
        } catch {
            Standard.error("not ready: \(error)\n")
            return 1
        }
    }
}
