#if os(Linux)
    import Glibc

    /// The journal of a storm, and the server's commands on it while no server runs.
    struct StormFiles {
        let program: String
        let directory: String

        var journal: String { "\(directory)/storm.sqlite" }
        /// A file with the secret of the storm's tokens.
        var secret: String { "\(directory)/secret" }
        private var copy: String { "\(directory)/copy.sqlite" }

        /// Creates a new directory under /tmp.
        static func directory() throws(BenchError) -> String {
            var path = Array("/tmp/reactor-storm-XXXXXX".utf8CString)
            let isMade = unsafe path.withUnsafeMutableBufferPointer { buffer in
                unsafe buffer.baseAddress.map { unsafe mkdtemp($0) != nil } ?? false
            }
            guard isMade else { throw .system(operation: "mkdtemp", code: errno) }
            return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        /// Writes the file with the secret.
        func writeSecret() throws(BenchError) {
            let file = unsafe open(secret, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            let bytes = Array(StormTokens.secret.utf8)
            guard file >= 0, unsafe write(file, bytes, bytes.count) == bytes.count else {
                throw .system(operation: "write \(secret)", code: errno)
            }
            close(file)
        }

        /// The output of `--help`.
        func help() throws(BenchError) -> String {
            var process = try VictimProcess([program, "--help"])
            let text = process.outputToEnd()
            let code = process.waitForEnd()
            guard code == 0 else { throw .setup("\(program) --help: status \(code)") }
            return text
        }

        /// The faults that `journal check` finds.
        func check() throws(BenchError) -> [String] {
            try judge("journal check", [program, "journal", "check", journal])
        }

        /// The faults of a new journal into which an export of this journal is imported.
        func checkExport() throws(BenchError) -> [String] {
            defer { remove(copy) }
            return try judge(
                "export, import and check",
                shell(
                    #""$0" journal export "$1" | "$0" journal import "$2""#
                        + #" && "$0" journal check "$2""#))
        }

        /// Starts a process that backs up the running server's journal and checks the copy.
        func backup() throws(BenchError) -> VictimProcess {
            remove(copy)
            return try VictimProcess(
                shell(
                    #""$0" journal backup "$1" "$2" && "$0" journal check "$2"; code=$?;"#
                        + #" rm -f "$2"*; exit $code"#))
        }

        private func shell(_ script: String) -> [String] {
            ["/bin/sh", "-c", "\(script)", program, journal, copy]
        }

        private func judge(_ name: String, _ words: [String]) throws(BenchError) -> [String] {
            var process = try VictimProcess(words)
            let text = process.outputToEnd()
            let code = process.waitForEnd()
            return code == 0 ? [] : ["\(name): status \(code): \(text)"]
        }

        private func remove(_ path: String) {
            for name in ["", "-wal", "-shm", "-journal", ".lock", ".writer"] {
                unsafe unlink(path + name)
            }
        }

        /// Removes all files.
        func remove() {
            remove(journal)
            remove(copy)
            unsafe unlink(secret)
            unsafe rmdir(directory)
        }
    }
#endif
