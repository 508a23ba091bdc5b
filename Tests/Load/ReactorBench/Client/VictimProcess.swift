#if os(Linux)
    import Glibc

    /// The server that is killed and started again.
    ///
    /// Uses posix_spawn(3), because Foundation is not linked here. Standard output is read for the
    /// line with the server's address; standard error is inherited.
    struct VictimProcess: ~Copyable {
        private let pid: pid_t
        private let output: Int32
        /// The exit code once it has ended; after a signal 128 + its number, as in a shell.
        private(set) var endCode: Int32?
        private var isGone: Bool { endCode != nil }

        /// Starts the server; `words` are the program and its arguments.
        init(_ words: [String]) throws(BenchError) {
            var pipes: [Int32] = [0, 0]
            guard unsafe pipe(&pipes) == 0 else {
                throw .system(operation: "pipe", code: errno)
            }
            for end in pipes { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            var actions = unsafe posix_spawn_file_actions_t()
            unsafe posix_spawn_file_actions_init(&actions)
            unsafe posix_spawn_file_actions_adddup2(&actions, pipes[1], 1)
            defer { unsafe posix_spawn_file_actions_destroy(&actions) }
            var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
            defer { unsafe arguments.forEach { unsafe free($0) } }
            var started: pid_t = 0
            let code = unsafe posix_spawnp(
                &started, words[0], &actions, nil, &arguments, environ)
            close(pipes[1])
            guard code == 0 else {
                close(pipes[0])
                throw .system(operation: "posix_spawn \(words[0])", code: code)
            }
            pid = started
            output = pipes[0]
        }

        /// Carries a command out, whose output is read so that it never waits for a reader.
        static func finish(_ words: [String]) throws(BenchError) {
            var process = try VictimProcess(words)
            _ = process.outputToEnd()
            let code = process.waitForEnd()
            guard code == 0 else {
                throw .setup("\(words.joined(separator: " ")) ended with \(code)")
            }
        }

        deinit {
            if !isGone {
                kill(pid, SIGKILL)
                waitpid(pid, nil, 0)
            }
            close(output)
        }

        /// Waits for `… listening on http://host:port …`; returns nil if the server ended or at the
        /// timeout.
        func address(timeout: TimeSpan) -> String? {
            let deadline = Clock.now() + timeout.nanoseconds
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while !text.contains(0x0A), Clock.now() < deadline {
                var one = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
                let rest = (deadline - Clock.now()) / 1_000_000
                guard unsafe poll(&one, 1, Int32(clamping: rest) + 1) > 0 else { continue }
                let count = unsafe read(output, &buffer, buffer.count)
                guard count > 0 else { return nil }
                text.append(contentsOf: buffer[..<count])
            }
            let words = String(decoding: text, as: UTF8.self).split(separator: " ")
            return words.first { $0.hasPrefix("http://") }.map(String.init)
        }

        func send(_ signal: Int32) { if !isGone { kill(pid, signal) } }

        /// The resident memory of the server; 0 once it has ended.
        var residentBytes: UInt64 {
            guard !isGone, let text = ProcFile.text("/proc/\(pid)/statm") else { return 0 }
            let fields = text.split(separator: " ")
            let pages = fields.count > 1 ? UInt64(fields[1]) ?? 0 : 0
            return pages * UInt64(sysconf(Int32(_SC_PAGESIZE)))
        }

        /// Whether the server has ended.
        mutating func hasEnded() -> Bool {
            var status: Int32 = 0
            if !isGone, unsafe waitpid(pid, &status, WNOHANG) == pid { endCode = Self.code(status) }
            return isGone
        }

        /// Waits for the end; returns the exit code, or 128 + the signal's number as in a shell.
        mutating func waitForEnd() -> Int32 {
            if let endCode { return endCode }
            var status: Int32 = 0
            while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
            let code = Self.code(status)
            endCode = code
            return code
        }

        private static func code(_ status: Int32) -> Int32 {
            let signal = status & 0x7F
            return signal == 0 ? status >> 8 & 0xFF : 128 + signal
        }

        /// The rest of its output, at most 64 KiB.
        func outputToEnd() -> String {
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while text.count < 65_536, case let count = unsafe read(output, &buffer, buffer.count),
                count > 0
            {
                text.append(contentsOf: buffer[..<count])
            }
            return String(decoding: text, as: UTF8.self)
        }
    }
#endif
