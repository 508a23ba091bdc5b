import Glibc
import TestProcesses

/// A shell that kills the children of this process once this process is gone, however it ended: a
/// killed test run must leave no servers and no browsers behind.
///
/// It reads a line for each child that begins or ends; its input ends with this process.
struct Watchdog: Sendable {
    /// Signals to the whole process group are meant for the tests; the shell outlives them for a
    /// moment.
    private static let script = """
        trap '' INT TERM HUP
        pids=
        while read -r word pid; do
            case $word in
            born) pids="$pids $pid" ;;
            died)
                rest=
                for one in $pids; do [ "$one" = "$pid" ] || rest="$rest $one"; done
                pids=$rest ;;
            esac
        done
        [ -z "$pids" ] || kill -9 $pids 2>/dev/null
        """

    static let shared: Watchdog = {
        do {
            return try Watchdog()
        } catch {
            preconditionFailure("no watchdog for the tests' children: \(error)")
        }
    }()

    /// Never closed: its closing marks the end of this process.
    private let writing: Int32

    private init() throws {
        let pair = try DescriptorPair()
        defer { close(pair.reading) }
        writing = pair.writing
        _ = try TestProcess.spawn(
            "/bin/sh", ["-c", Watchdog.script], [:], input: pair.reading, output: nil, errors: nil)
    }

    func born(_ pid: pid_t) { write("born \(pid)\n") }

    func died(_ pid: pid_t) { write("died \(pid)\n") }

    /// One call per line, so that the lines of two threads do not mix.
    private func write(_ line: String) {
        let bytes = Array(line.utf8)
        _ = unsafe send(writing, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
