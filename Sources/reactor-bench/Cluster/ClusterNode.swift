#if os(Linux)
    import Glibc

    /// One node of the cluster: a server that is killed, paused and started again, always at the same
    /// address for links.
    final class ClusterNode {
        let number: Int
        private let words: [String]
        private var process: VictimProcess?
        /// The address for clients; nil while the node is down.
        private(set) var target: ServerTarget?

        init(_ number: Int, _ words: [String]) {
            self.number = number
            self.words = words
        }

        /// Begins to start; see ``isStarted()``.
        func start() throws(BenchError) { process = try VictimProcess(words) }

        /// Whether the node has said where it listens. A node that has ended, because the database is
        /// away, is started again, as an operator's supervisor does.
        func isStarted() throws(BenchError) -> Bool {
            if process?.hasEnded() == true { try start() }
            guard let url = process?.address(timeout: TimeSpan(seconds: 0.001)) else {
                return false
            }
            target = try ServerTarget(url)
            return true
        }

        func kill() {
            process?.send(SIGKILL)
            _ = process?.waitForEnd()
            process = nil
            target = nil
        }

        func pause() { process?.send(SIGSTOP) }

        func resume() { process?.send(SIGCONT) }

        /// Begins an orderly end; the node accepts connections for a while.
        func terminate() { process?.send(SIGTERM) }

        /// The exit code, once the node has ended.
        func endCode() -> Int32? {
            guard process?.hasEnded() == true else { return nil }
            let code = process?.endCode
            process = nil
            target = nil
            return code
        }
    }
#endif
