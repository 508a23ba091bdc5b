import Foundation

/// The processor time and context switches of the process (getrusage(2)).
struct Cost {
    private var processor = Duration.zero
    private var switches = 0

    static var now: Cost {
        var usage = rusage()
        unsafe getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        return Cost(
            processor: duration(usage.ru_utime) + duration(usage.ru_stime),
            switches: usage.ru_nvcsw + usage.ru_nivcsw)
    }

    static func - (left: Cost, right: Cost) -> Cost {
        Cost(
            processor: left.processor - right.processor, switches: left.switches - right.switches)
    }

    static func += (sum: inout Cost, other: Cost) {
        sum.processor += other.processor
        sum.switches += other.switches
    }

    func text(of count: Int) -> String {
        let microseconds = Int(processor / .microseconds(1)) / count
        let share = String(format: "%.1f", Double(switches) / Double(count))
        return "processor \(microseconds) µs, \(share) context switches"
    }

    private static func duration(_ time: timeval) -> Duration {
        .seconds(time.tv_sec) + .microseconds(time.tv_usec)
    }
}
