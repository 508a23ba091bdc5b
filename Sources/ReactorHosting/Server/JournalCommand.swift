internal import ArgumentParser
internal import Storage

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// `reactor-server journal …`: the commands on a journal that need no server.
struct JournalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Looks into a journal, copies it, or turns it into text and back.",
        discussion: """
            A journal is a file, or the address of a database for prepare, check, rehearse, retag, \
            export and import. check, rehearse, export and backup are safe while a server uses the file; while they \
            read, its write-ahead log grows by what the server commits. import makes a new file. \
            recover and retag are refused while a server uses the journal. Exit status: 0 if all is well, 1 if \
            not, 64 for bad arguments.
            """,
        subcommands: [
            Check.self, Rehearse.self, Retag.self, Export.self, Import.self, Backup.self,
            Restore.self, Recover.self, Prepare.self,
        ])

    /// Commands and options of earlier versions, and what replaces them.
    private static let removed = [
        "compact": """
        stop the server, run journal backup FILE COPY, and move COPY to FILE: a copy has no free \
        space
        """,
        "stats": """
        sqlite3 and psql count what is in a journal; the pages Journal and PostgreSQL have the \
        statements
        """,
        "--accept-unmarked": "export the journal again: each export has an end now",
    ]

    /// The error message if a command or an option of these was removed; nil otherwise.
    static func refusal(of words: ArraySlice<String>) -> String? {
        guard words.first == "journal" else { return nil }
        let names = words.dropFirst().prefix(1) + words.filter { $0.hasPrefix("--") }
        guard let name = names.first(where: { removed[$0] != nil }), let now = removed[name] else {
            return nil
        }
        return "journal \(name) was removed: \(now)"
    }

    /// Converts an error into a sentence and exit status 1.
    static func reportFaults(of path: String, _ act: () throws -> Void) throws {
        do {
            try act()
        } catch let fault as JournalFileFault {
            Standard.error("error: \(fault.sentence(path))\n")
            throw ExitCode(1)
        } catch let fault as JournalTextFault {
            Standard.error("error: \(fault)\n")
            throw ExitCode(1)
        } catch let failure as JournalFailure {
            Standard.error("error: \(SettingValue.masked(path)): \(failure.detail)\n")
            throw ExitCode(1)
        }
    }

    /// Makes a journal from the lines of standard input; leaves no file behind if one is refused.
    static func importLines(into path: String) throws {
        let importing = try JournalImport(into: path)
        do {
            try Standard.eachLine(importing.add)
            try importing.finish()
        } catch {
            importing.abandon()
            throw error
        }
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Checks the file and the invariants of its content; exits 1 if it finds a problem.",
            discussion: """
                The file: SQLite's integrity check. The content: numbers without a gap, versions \
                that rise by one, snapshots of existing records, valid JSON, no row without its \
                session. Of a database the content is checked, and that its rows continue one \
                another; a copy of it is made in the folder for temporary files and removed at the \
                end. The first \(JournalCheck.problemLimit) problems are printed.
                """)

        @Argument(help: "The journal's file or address.") var file: String

        func run() throws {
            try JournalCommand.reportFaults(of: file) {
                let report =
                    if let database = try DatabaseJournal(file) {
                        try database.check()
                    } else {
                        try JournalCheck(file).run()
                    }
                for problem in report.problems { Standard.out(problem + "\n") }
                let rest = report.problemCount - report.problems.count
                if rest > 0 { Standard.out("and \(rest) more\n") }
                Standard.out(
                    "\(report.sessions) sessions, \(report.records) records and notes: "
                        + "\(report.problemCount) problems\n")
                if report.problemCount > 0 { throw ExitCode(1) }
            }
        }
    }

    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes everything as lines of JSON to standard output.",
            discussion: """
                The first line names the format; then comes each session with its records, \
                snapshots, stored replies and running actions; then the deleted ones. import makes \
                a journal from these lines. They show the journal at one moment, so the \
                write-ahead log of a file in use grows until the last line is taken. If that takes \
                long, because of a slow reader or a large journal, run backup first, which takes as \
                long as the disk, and export the copy.
                """)

        @Argument(help: "The journal's file or address.") var file: String

        func run() throws {
            try JournalCommand.reportFaults(of: file) {
                let writer = JournalTextWriter { lines in
                    guard Standard.put(lines) == 0 else {
                        Standard.error("error: cannot write to standard output\n")
                        throw ExitCode(1)
                    }
                }
                if let database = try DatabaseJournal(file) {
                    try database.visit(writer)
                } else {
                    try JournalExport(file).visit(writer)
                }
                try writer.finish()
            }
        }
    }

    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a new journal from the output of export, on standard input.",
            discussion: """
                An existing file is not changed. Without an error the import is complete: text that \
                was cut off, or lacks a record, is refused with the number of the line, and no file \
                is left behind. A database is filled in one transaction, if it has no session; \
                the text is checked before, with a file in the folder for temporary files.
                """)

        @Argument(help: "The file to make, or the address of a database.") var file: String

        func run() throws {
            try JournalCommand.reportFaults(of: file) {
                if let database = try DatabaseJournal(file) {
                    return try TemporaryJournal.withJournal { path in
                        try JournalCommand.importLines(into: path)
                        try database.fill(from: path)
                    }
                }
                try JournalCommand.importLines(into: file)
            }
        }
    }

    struct Backup: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copies the journal as it is at one moment, while a server may be using it.",
            discussion: """
                The copy has none of the free space of the file. A copy that exists is left alone. \
                Without an error it is whole.

                With --every, COPY is a folder that exists, and the command runs until SIGTERM. At \
                its start it writes a copy, then each time a further file with what has changed, \
                and at SIGTERM a last one. restore makes a journal of them. In TMPDIR it needs room \
                for two copies of the journal.
                """)

        @Argument(help: "The journal's file.") var file: String
        @Argument(help: "The file to make; with --every, the folder.") var copy: String
        @Option(help: "The time from one copy to the next, such as 1m.") var every: Interval?
        @Option(
            help: """
                A shell command to run after each copy, for instance to send the folder to another \
                machine; it is run again until it succeeds. REACTOR_COPY has the path of the new \
                file.
                """) var then: String?

        func validate() throws {
            guard then == nil || every != nil else {
                throw ValidationError("--then needs --every")
            }
        }

        func run() throws {
            try JournalCommand.reportFaults(of: file) {
                guard let every else { return try JournalBackup(file).run(to: copy) }
                try RepeatedBackup(of: file, in: copy, every: every.time, then: then).run()
            }
        }
    }

    struct Restore: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a journal of the copies that backup --every has written to a folder.",
            discussion: """
                The newest chain of copies is used. A missing or damaged copy is an error that \
                names it; without it and the later ones, the command restores what was before. \
                Check the journal with check before a server uses it.
                """)

        @Argument(help: "The folder.") var folder: String
        @Argument(help: "The file to make.") var file: String

        func run() throws {
            try JournalCommand.reportFaults(of: folder) {
                let (name, time) = try JournalRestore(folder).run(to: file)
                let date = Date(timeIntervalSince1970: Double(time) / 1_000).formatted(.iso8601)
                Standard.out("\(file) is the journal of \(date), as in \(name)\n")
            }
        }
    }
}

extension JournalCommand {
    struct Recover: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Repairs a file whose write-ahead log is damaged: drops what is after the damage.",
            discussion: """
                For a server that does not start because of the damage, if there is no better copy. \
                Requests that were acknowledged after it are lost. Every session gets another \
                generation, so that clients get a reset. Copy the file and its log beforehand.
                """)

        @Argument(help: "The journal's file.") var file: String

        func run() throws {
            try JournalCommand.reportFaults(of: file) {
                let count = try JournalRecovery(file).run()
                Standard.out("\(count) sessions, each with a new generation\n")
            }
        }
    }

    struct Prepare: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes the tables of a journal in a database, or brings them up to date.",
            discussion: """
                A server does it itself at its start if its role may. This is for those whose servers \
                may not, and for databases that were restored from a backup: with --restored the \
                first server that connects begins another era, in which each session has another \
                generation, and forgets the nodes of the original. It is refused while a server \
                uses the journal.
                """)

        @Flag(help: "The database was restored from a backup, or is a copy of another one.")
        var restored = false

        @Argument(help: "The journal's address.") var address: String

        func run() throws {
            try JournalCommand.reportFaults(of: address) {
                guard let database = try DatabaseJournal(address) else {
                    throw ValidationError("the address of a database begins with postgres://")
                }
                try database.prepare(isRestored: restored)
            }
        }
    }
}
