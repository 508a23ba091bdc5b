internal import ArgumentParser
internal import Dispatch
internal import Storage

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// `journal backup FILE FOLDER --every TIME`: copies until SIGTERM, SIGINT or SIGHUP, and then a
/// last time.
struct RepeatedBackup {
    private let file: String
    private let folder: String
    private let pause: Duration
    private let command: String?

    init(of file: String, in folder: String, every pause: Duration, then command: String?) {
        (self.file, self.folder, self.pause, self.command) = (file, folder, pause, command)
    }

    /// - Throws: ``JournalFileFault``: the first or the last copy fails, or the file was replaced.
    ///   Another copy or command that fails is reported, and tried again.
    func run() throws {
        let end = DispatchSemaphore(value: 0)
        let signals = [SIGTERM, SIGINT, SIGHUP].map { number in
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { end.signal() }
            source.resume()
            return source
        }
        defer { for source in signals { source.cancel() } }
        try TemporaryJournal.withJournal { scratch in
            let pages = try JournalPages(of: file, in: folder, scratch: scratch)
            var (hasCopied, isLast) = (false, false)
            var unsent: [String] = []
            while true {
                do throws(JournalFileFault) {
                    if let copy = try pages.copy() {
                        Standard.out("\(copy.path): \(copy.pages) of \(copy.count) pages\n")
                        unsent.append(copy.path)
                    }
                    hasCopied = true
                } catch {
                    guard hasCopied, !isLast, error != .replaced else { throw error }
                    Standard.error("error: \(error.sentence(file)); trying again\n")
                }
                // A new chain may have removed some.
                unsent.removeAll { unsafe access($0, F_OK) != 0 }
                while let path = unsent.first, send(path) { unsent.removeFirst() }
                guard !isLast else { break }
                isLast = end.wait(timeout: .now() + pause / .seconds(1)) == .success
            }
            if !unsent.isEmpty { throw ExitCode(1) }
        }
    }

    private func send(_ path: String) -> Bool {
        guard let command else { return true }
        unsafe setenv("REACTOR_COPY", path, 1)
        let status = unsafe system(command)
        guard status == 0 else {
            let end = status & 0x7F == 0 ? "exit status \(status >> 8)" : "signal \(status & 0x7F)"
            Standard.error("error: --then failed (\(end))\n")
            return false
        }
        return true
    }
}

/// A time on the command line.
struct Interval: ExpressibleByArgument {
    let time: Duration

    /// Nil for another text, and below 100 ms.
    init?(argument: String) {
        guard let time = DurationText.parse(argument), time >= .milliseconds(100) else {
            return nil
        }
        self.time = time
    }
}
