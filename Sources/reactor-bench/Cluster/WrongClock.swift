#if os(Linux)
    import Glibc

    /// A node whose wall clock is ahead, by libfaketime. Its monotonic clock is right: the system's timers go by
    /// it. The clock is neither behind nor fast: libfaketime 0.9.10 shifts the timers of Dispatch with it, so they
    /// would not fire. (Those that fire too early are set again.)
    enum WrongClock {
        private static let offsets = ["+0", "+3600", "+7200"]

        /// Debian has libraries in a folder for each architecture.
        private static let library: String =
            ["x86_64", "aarch64"]
            .map { machine in "/usr/lib/\(machine)-linux-gnu/faketime/libfaketimeMT.so.1" }
            .first { path in unsafe access(path, R_OK) == 0 } ?? "libfaketimeMT.so.1"

        /// The command of a node, whose options become variables of its environment: the library changes the
        /// environment before the program starts, and Swift looks for arguments before the environment.
        static func words(of node: Int, _ command: [String]) -> [String] {
            var words = [
                "env", "LD_PRELOAD=\(library)", "FAKETIME=\(offsets[node % offsets.count])",
                "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
            ]
            let arguments = command.dropFirst()
            for (name, value) in zip(arguments, arguments.dropFirst() + ["--"])
            where name.hasPrefix("--") {
                let setting = name.dropFirst(2).uppercased().split(separator: "-").joined(
                    separator: "_")
                words.append("REACTOR_\(setting)=\(value.hasPrefix("--") ? "on" : value)")
            }
            return words + command.prefix(1)
        }
    }
#endif
