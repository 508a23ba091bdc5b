internal import ArgumentParser
internal import Storage

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

extension JournalCommand {
    /// `reactor-server journal rehearse`: the only command on a file that needs the program's
    /// reactors, so ``ReactorServer/main(hosting:)`` runs it.
    struct Rehearse: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: """
                Rebuilds every session with this program's reactors, and writes nothing; exits 1 if \
                one would be quarantined, or a timer's action can't be read.
                """,
            discussion: """
                To run before a deployment, with the new program: on the file of the old one, also \
                while a server uses it, or on a copy of it. Reports the sessions that can't be \
                rebuilt, with the reason (the first \(JournalRehearsal.namedLimit)), the timers \
                whose actions can't be read, the stateVersion of each snapshot, and how long waking takes. No effect runs, no source \
                is opened. From a database, a journal is made in the folder for temporary files and \
                removed at the end. A reduce or migrate that traps ends the rehearsal, too.
                """)

        @Argument(help: "The journal's file or address.") var file: String

        func run(hosting hosted: [Hosted]) throws {
            var rehearsal: JournalRehearsal
            do {
                rehearsal = JournalRehearsal(try RunningServer.registrations(hosted))
            } catch {
                Standard.error("error: \(error)\n")
                throw ExitCode(64)
            }
            try JournalCommand.reportFaults(of: file) {
                if let database = try DatabaseJournal(file) {
                    try database.withCopy { try rehearsal.run(on: $0) }
                } else {
                    try rehearsal.run(on: file)
                }
            }
            Standard.out(rehearsal.report)
            if rehearsal.faultCount + rehearsal.lostTimers > 0 { throw ExitCode(1) }
        }
    }
}

/// A journal's file in a folder of its own, which is removed at the end.
enum TemporaryJournal {
    /// Passes a path where no file is; a journal that is made there is removed at the end.
    static func withJournal<Value>(_ act: (String) throws -> Value) throws -> Value {
        let folder = try makeFolder()
        let path = folder + "/journal.sqlite"
        defer {
            for suffix in ["", "-wal", "-shm", "-journal"] { _ = unsafe unlink(path + suffix) }
            _ = unsafe rmdir(folder)
        }
        return try act(path)
    }

    private static func makeFolder() throws(JournalFileFault) -> String {
        let parent = ProcessEnvironment.variables["TMPDIR"] ?? "/tmp"
        var template = Array((parent + "/reactor-journal-XXXXXX").utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw .unusable(
                "no folder for a copy can be made in \(parent): set TMPDIR to one that can be written"
            )
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
