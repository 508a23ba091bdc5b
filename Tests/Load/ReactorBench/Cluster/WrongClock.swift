#if os(Linux)
    import Glibc

    /// The clocks of nodes that are wrong, by the library `WrongClock` beside this program.
    struct WrongClock {
        /// The seconds that a node's wall clock is ahead, and the seconds that all of its clocks
        /// count in 100 s.
        private static let clocks = [
            (ahead: 0, rate: 100), (ahead: -3600, rate: 100), (ahead: 3600, rate: 120),
        ]

        private let library: String

        /// Finds the library; throws if it is not there.
        init() throws(BenchError) {
            guard let program = unsafe realpath("/proc/self/exe", nil) else {
                throw .system(operation: "realpath /proc/self/exe", code: errno)
            }
            defer { unsafe free(program) }
            let folder = unsafe String(cString: program).split(separator: "/").dropLast()
            library = "/" + folder.joined(separator: "/") + "/libWrongClock.so"
            guard unsafe access(library, R_OK) == 0 else {
                throw .setup("--clocks needs \(library): swift build --product WrongClock")
            }
        }

        /// The command of a node.
        func words(of node: Int, _ command: [String]) -> [String] {
            let clock = Self.clocks[node % Self.clocks.count]
            return [
                "env", "LD_PRELOAD=\(library)", "WRONG_CLOCK_OFFSET=\(clock.ahead)",
                "WRONG_CLOCK_RATE=\(clock.rate)",
            ] + command
        }
    }
#endif
