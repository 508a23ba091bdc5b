internal import CSpawn
import Foundation
import Glibc

/// Starts processes and captures both of their outputs.
///
/// posix_spawn(3) and pipes that are closed on exec, because Foundation's `Process` does not
/// support many at once: a pipe's end that leaks into another child never closes.
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
            let pid = try spawn(
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

    /// Starts the process with these standard streams; nil stands for /dev/null.
    static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String: String], input: Int32?,
        output: Int32?, errors: Int32?
    ) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (stream, descriptor) in [(0, input), (1, output), (2, errors)] as [(Int32, Int32?)] {
            if let descriptor {
                unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, stream)
            } else {
                unsafe posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0)
            }
        }
        // Closes descriptors that are not closed on exec, such as libcurl's sockets: a child with
        // them would keep connections open that this process has closed, and have fewer descriptors
        // for itself.
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        // Threads of Dispatch block most signals, and a child would inherit the mask.
        var attributes = posix_spawnattr_t()
        var noSignals = sigset_t()
        unsafe sigemptyset(&noSignals)
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawnattr_setsigmask(&attributes, &noSignals)
        // Tests that run under nohup(1) or in the background of a shell inherit ignored signals; a
        // server keeps ignoring those.
        var defaults = noSignals
        for signal in [SIGHUP, SIGINT, SIGTERM] { unsafe sigaddset(&defaults, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var pid: pid_t = 0
        let code = unsafe withStrings([path] + arguments) { argv in
            unsafe withStrings(environment.map { "\($0.key)=\($0.value)" }) { envp in
                unsafe posix_spawn(&pid, path, &actions, &attributes, argv, envp)
            }
        }
        guard code == 0 else { throw SystemCallFailure(call: "posix_spawn \(path)", code: code) }
        return pid
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

    /// A nil-terminated array of C strings, as required by exec.
    private static func withStrings<Result>(
        _ strings: [String],
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = unsafe strings.map { unsafe strdup($0) } + [nil]
        // No loop: swift-format 6.3.1 breaks `for unsafe pointer in`.
        defer { unsafe pointers.forEach { unsafe free($0) } }
        return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
            // Forced, because the array has an element, the nil.
            unsafe body(buffer.baseAddress!)
        }
    }
}
