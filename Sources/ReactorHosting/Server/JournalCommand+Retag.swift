internal import ArgumentParser
internal import Storage

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

extension JournalCommand {
    /// `reactor-server journal retag`: it needs the program's reactors, so
    /// ``ReactorServer/main(hosting:)`` runs it.
    struct Retag: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: """
                Computes the tags of all sessions again with this program's reactors; exits 1 if a \
                session can't be rebuilt.
                """,
            discussion: """
                To run when tags(of:) has changed and stateVersion has not, and after an upgrade: \
                sessions that are not used keep the tags that they have. Rebuilds every session of \
                the reactors with tags, as rehearse does, and writes the tags that differ. No \
                effect runs, no source is opened. It is refused while a server uses the journal. \
                It can be interrupted, and continues when it is run again.
                """)

        @Argument(help: "The journal's file or address.") var file: String

        func run(hosting hosted: [Hosted]) async throws {
            var retag: JournalRetag
            do {
                let registrations = try RunningServer.registrations(hosted)
                let journal = try openJournal()
                retag = JournalRetag(journal, registrations)
                let result: Result<Void, any Error>
                do {
                    result = .success(try await retag.run())
                } catch {
                    result = .failure(error)
                }
                await journal.close()
                try result.get()
            } catch let failure as ConfigurationFailure {
                Standard.error("error: \(failure)\n")
                throw ExitCode(64)
            } catch {
                return try JournalCommand.reportFaults(of: file) { throw error }
            }
            Standard.out(retag.report)
            if retag.faultCount > 0 { throw ExitCode(1) }
        }

        private func openJournal() throws -> any Journal {
            guard JournalEngine.isAddress(file) else {
                // Opening a missing file would create it.
                guard unsafe access(file, F_OK) == 0 else {
                    throw JournalFileFault.unusable("there is no such file")
                }
                return try FileJournal(path: file)
            }
            guard let engine = JournalEngine.ofProgram else {
                throw JournalFailure(reason: .unavailable, detail: JournalEngine.missing)
            }
            return try engine.open(file, JournalRetention(), nil)
        }
    }
}
