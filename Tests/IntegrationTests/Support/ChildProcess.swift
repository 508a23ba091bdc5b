import Foundation
import Glibc
import TestProcesses

/// Starts processes and captures both of their outputs.
enum ChildProcess {
    /// Starts the process; the log receives its outputs and its exit.
    static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String: String], _ log: ProcessLog
    ) throws -> pid_t {
        let output = try DescriptorPair()
        let errors = try DescriptorPair()
        defer {
            close(output.writing)
            close(errors.writing)
        }
        do {
            let pid = try TestProcess.spawn(
                path, arguments, environment, input: nil, output: output.writing,
                errors: errors.writing)
            Watchdog.shared.born(pid)
            watch(pid, output.reading, errors.reading, log)
            return pid
        } catch {
            close(output.reading)
            close(errors.reading)
            throw error
        }
    }

    /// Reads both outputs to their ends on a separate thread, then waits for the exit.
    private static func watch(
        _ pid: pid_t, _ output: Int32, _ errors: Int32, _ log: ProcessLog
    ) {
        Thread.detachNewThread {
            read(output, errors, into: log)
            var status: Int32 = 0
            while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
            Watchdog.shared.died(pid)
            let signal = status & 0x7f
            log.change { $0.exit = signal == 0 ? .code(status >> 8 & 0xff) : .signal(signal) }
        }
    }

    private static func read(_ output: Int32, _ errors: Int32, into log: ProcessLog) {
        var open = [
            pollfd(fd: output, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors, events: Int16(POLLIN), revents: 0),
        ]
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !open.isEmpty {
            _ = unsafe poll(&open, nfds_t(open.count), -1)
            open.removeAll { one in
                guard one.revents != 0 else { return false }
                let count = unsafe Glibc.read(one.fd, &buffer, buffer.count)
                guard count > 0 else {
                    close(one.fd)
                    return true
                }
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                log.change { one.fd == output ? ($0.output += text) : ($0.errors += text) }
                return false
            }
        }
    }
}
