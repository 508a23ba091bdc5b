internal import ArgumentParser

/// `reactor-server config …`: the settings that a server would have, without starting one.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Checks the settings of a server, or shows them.",
        discussion: """
            Both commands take the options of the server, and read its environment variables and \
            the file of --config. Exit status: 0 if all is well, 64 for settings with which a server \
            does not start.
            """,
        subcommands: [Check.self, Show.self])

    /// The settings; prints every fault and exits with 64 if there are any.
    private static func read(
        _ arguments: ServerArguments
    ) throws -> (configuration: Configuration, values: [SettingValue]) {
        let environment = ProcessEnvironment.variables
        for sentence in Configuration.unknownVariables(in: environment) {
            Standard.error("warning: \(sentence)\n")
        }
        do {
            return try Configuration.read(typed: arguments.typed, environment: environment)
        } catch {
            Standard.error("error: bad settings\n\(error)\n")
            throw ExitCode(64)
        }
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints every fault of the settings at once; exits 64 if it finds one.",
            discussion: """
                It finds every fault that keeps a server from starting, and prints it in the \
                server's words. It reads the files of keys and secrets, and resolves the names of addresses. \
                It neither binds an address nor opens the journal.
                """)

        // See `HealthCheckCommand`.
        @OptionGroup(visibility: .hidden) var arguments: ServerArguments

        func run(for program: Program) async -> Int32 {
            do {
                let settings = try ConfigCommand.read(arguments)
                _ = try await program.server(settings.configuration)
                Standard.out("\(settings.values.count) settings, no faults\n")
                return 0
            } catch let code as ExitCode {
                return code.rawValue
            } catch {
                let sentences = error.sentences.joined(separator: "\n")
                Standard.error("error: bad settings\n\(sentences)\n")
                return error.exitStatus
            }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints each setting with its value and where that comes from.",
            discussion: """
                The origin is "default", a line of the file, a variable or an option. Secrets and \
                the passwords in URLs are shown as ***.
                """)

        enum Format: String, ExpressibleByArgument, CaseIterable {
            case text, file
        }

        @OptionGroup(visibility: .hidden) var arguments: ServerArguments
        @Option(help: "text, or file: the file of --config that has these settings.")
        var format = Format.text

        func run() throws {
            let values = try ConfigCommand.read(arguments).values
            switch format {
            case .text: Standard.out(Self.table(values))
            case .file: Standard.out(Self.file(values))
            }
        }

        /// Settings that differ from the defaults, each after the sentence that says when to change
        /// it. The others are comments, so that a later release can use its own defaults.
        ///
        /// The file has everything except values that no line can have, and secrets: a line with
        /// `***` would be a wrong value.
        private static func file(_ values: [SettingValue]) -> String {
            values.filter { $0.setting.name != "config" }.map { value in
                let name = value.setting.name
                let change = value.setting.change.map { "# Change it \($0).\n" } ?? ""
                guard let text = value.shownText else { return "\(change)# \(name) = none\n" }
                guard value.isShownWhole else {
                    return "\(change)# \(name) = \(text) (it has a secret: write it yourself)\n"
                }
                guard text.trimmed(while: SettingsFile.isBlank) == text else {
                    return "\(change)# \(name) = \(text) (no line can have it: use --\(name))\n"
                }
                return "\(change)\(value.source == .standard ? "# " : "")\(name) = \(text)\n"
            }.joined()
        }

        private static func table(_ values: [SettingValue]) -> String {
            let rows = values.map {
                [$0.setting.name, $0.shownText ?? "none", $0.source.description(of: $0.setting)]
            }
            let widths = (0..<2).map { column in rows.map { $0[column].count }.max() ?? 0 }
            return rows.map { row in
                let cells = zip(row, widths).map { cell, width in
                    cell + String(repeating: " ", count: width - cell.count)
                }
                return (cells + [row[2]]).joined(separator: "  ") + "\n"
            }.joined()
        }
    }
}
