// The cost of a server process, as the kernel counts it: CPU in clock ticks (proc_pid_stat(5)),
// memory from smaps_rollup, descriptors from /proc/PID/fd; the process and all its descendants.
#if os(Linux)
    import Glibc

    /// One reading of one or more processes.
    struct ProcessUsage {
        /// User and system time in nanoseconds.
        var cpu: UInt64 = 0
        /// Resident bytes, shared pages counted in each process.
        var resident: UInt64 = 0
        /// Resident bytes, shared pages divided among the processes that share them.
        var proportional: UInt64 = 0
        /// Resident bytes that belong to the process alone.
        var unshared: UInt64 = 0
        var descriptors: UInt64 = 0
        /// The number of descriptors that are sockets.
        var sockets: UInt64 = 0

        /// Reads the processes and their descendants; ended processes count nothing.
        ///
        /// `isDeep` adds figures whose reading costs the server time: the kernel walks its pages.
        static func read(_ pids: [Int], isDeep: Bool = true) -> ProcessUsage {
            var usage = ProcessUsage()
            for pid in withDescendants(pids) {
                if let text = ProcFile.text("/proc/\(pid)/stat") {
                    let ticks = sysconf(Int32(_SC_CLK_TCK))
                    usage.cpu += cpuNanoseconds(stat: text, ticksPerSecond: ticks)
                }
                guard isDeep else { continue }
                if let text = ProcFile.text("/proc/\(pid)/smaps_rollup") {
                    usage.resident += kilobytes("Rss:", in: text) << 10
                    usage.proportional += kilobytes("Pss:", in: text) << 10
                    usage.unshared += kilobytes("Private_Clean:", in: text) << 10
                    usage.unshared += kilobytes("Private_Dirty:", in: text) << 10
                }
                for name in ProcFile.entries("/proc/\(pid)/fd") {
                    usage.descriptors += 1
                    let target = ProcFile.target(ofLink: "/proc/\(pid)/fd/\(name)")
                    if target?.hasPrefix("socket:") == true { usage.sockets += 1 }
                }
            }
            return usage
        }

        /// The resident bytes in the scheduler's counters: cheap enough to read while measuring.
        static func residentNow(_ pids: [Int]) -> UInt64 {
            var pages: UInt64 = 0
            for pid in withDescendants(pids) {
                guard let text = ProcFile.text("/proc/\(pid)/statm") else { continue }
                let fields = text.split(separator: " ")
                if fields.count > 1 { pages += UInt64(fields[1]) ?? 0 }
            }
            return pages * UInt64(sysconf(Int32(_SC_PAGESIZE)))
        }

        /// The given processes and their descendants that are alive.
        static func withDescendants(_ pids: [Int]) -> [Int] {
            guard !pids.isEmpty else { return [] }
            var childrenOf: [Int: [Int]] = [:]
            for name in ProcFile.entries("/proc") {
                guard let pid = Int(name), let text = ProcFile.text("/proc/\(pid)/stat"),
                    let parent = fields(ofStat: text).dropFirst().first.flatMap({ Int($0) })
                else { continue }
                childrenOf[parent, default: []].append(pid)
            }
            var all: [Int] = []
            var rest = pids
            while let pid = rest.popLast() {
                guard !all.contains(pid) else { continue }
                all.append(pid)
                rest += childrenOf[pid] ?? []
            }
            return all
        }

        /// The fields of a stat line from `state` on; the command before them may hold any
        /// character.
        private static func fields(ofStat text: String) -> [Substring] {
            guard let close = text.lastIndex(of: ")") else { return [] }
            return text[text.index(after: close)...].split(separator: " ")
        }

        /// utime + stime (fields 14 and 15) in nanoseconds.
        static func cpuNanoseconds(stat text: String, ticksPerSecond: Int) -> UInt64 {
            let fields = fields(ofStat: text)
            guard fields.count > 12, ticksPerSecond > 0, let user = UInt64(fields[11]),
                let system = UInt64(fields[12])
            else { return 0 }
            return (user + system) * (1_000_000_000 / UInt64(ticksPerSecond))
        }

        /// The number after `label` at the beginning of a line.
        static func kilobytes(_ label: String, in text: String) -> UInt64 {
            for line in text.split(separator: "\n") where line.hasPrefix(label) {
                let words = line.dropFirst(label.count).split(separator: " ")
                return words.first.flatMap { UInt64($0) } ?? 0
            }
            return 0
        }
    }
#endif
