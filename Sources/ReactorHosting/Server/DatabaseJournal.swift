internal import Storage

struct DatabaseJournal {
    private let address: String
    private let tools: any JournalTools

    /// Nil if the text is no address of a database. Throws if the program has no such journal.
    init?(_ text: String) throws(JournalFailure) {
        guard JournalEngine.isAddress(text) else { return nil }
        guard let engine = JournalEngine.ofProgram else {
            throw JournalFailure(reason: .unavailable, detail: JournalEngine.missing)
        }
        address = text
        tools = engine.tools
    }

    func prepare(isRestored: Bool) throws(JournalFailure) {
        try tools.prepare(address, isRestored: isRestored)
    }

    func visit(_ visitor: any JournalVisitor) throws { try tools.visit(address, visitor) }

    func fill(from path: String) throws {
        try tools.fill(address) { visitor in try JournalExport(path).visit(visitor) }
    }

    /// Passes the path of a file with the same contents, which is removed at the end.
    func withCopy<Value>(_ act: (String) throws -> Value) throws -> Value {
        try TemporaryJournal.withJournal { path in
            let importing = try JournalImport(into: path)
            do {
                var lines = Lines()
                let writer = JournalTextWriter { try lines.add($0, to: importing) }
                try visit(writer)
                try writer.finish()
                try importing.finish()
            } catch {
                importing.abandon()
                throw error
            }
            return try act(path)
        }
    }

    /// Checks the rows, and a copy of the contents.
    func check() throws -> JournalCheck.Report {
        let problems = try tools.problems(of: address)
        var report: JournalCheck.Report
        do {
            report = try withCopy { try JournalCheck($0).run() }
        } catch let fault as JournalTextFault {
            report = JournalCheck.Report()
            report.add("the contents: \(fault.reason)")
        }
        for problem in problems { report.add(problem) }
        return report
    }

    /// The lines of a text that comes in pieces.
    private struct Lines {
        private var rest: [UInt8] = []

        mutating func add(_ bytes: [UInt8], to importing: JournalImport) throws {
            rest += bytes
            var start = rest.startIndex
            while let end = rest[start...].firstIndex(of: 0x0A) {
                try importing.add(Array(rest[start..<end]))
                start = end + 1
            }
            rest.removeSubrange(..<start)
        }
    }
}
