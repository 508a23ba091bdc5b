#if os(Linux)
    import Glibc

    /// One node of the cluster: a server that is killed, paused and started again, always at the
    /// same address for links.
    final class ClusterNode {
        let number: Int
        /// How long its answers take is the length of a fault.
        var isDisturbed = false
        /// The exit codes of orderly ends that were not 0.
        private(set) var faultyEnds: [Int32] = []
        private let words: [String]
        private var process: VictimProcess?
        /// The address for clients; nil while the node is down, or ends.
        private(set) var target: ServerTarget?

        init(_ number: Int, _ words: [String]) {
            self.number = number
            self.words = words
        }

        /// Begins to start; see ``isStarted()``.
        func start() throws(BenchError) { process = try VictimProcess(words) }

        /// Whether the node has reported where it listens. A node that has ended, because the
        /// database is away, is started again, as an operator's supervisor does.
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

        /// Begins an orderly end. The node accepts connections for a while; clients begin none.
        func terminate() {
            process?.send(SIGTERM)
            target = nil
        }

        /// Whether it has ended after ``terminate()``.
        func hasEnded() -> Bool {
            guard process?.hasEnded() == true else { return false }
            if let code = process?.endCode, code != 0 { faultyEnds.append(code) }
            process = nil
            return true
        }
    }
#endif
