import Foundation
import Glibc
import Synchronization

/// Starting a process with both of its outputs caught.
///
/// posix_spawn(3) and pipes that are closed on exec, because Foundation's `Process` was not made
/// for many at once: a pipe's end that leaks into another child never ends.
enum ChildProcess {
    /// Children that may still live. They are killed when this process exits in its own way.
    private static let living: Mutex<Set<pid_t>> = {
        atexit { ChildProcess.killAll() }
        return Mutex([])
    }()

    private static func killAll() {
        for pid in living.withLock({ $0 }) { kill(pid, SIGKILL) }
    }

    static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String: String], _ log: ProcessLog
    ) throws -> pid_t {
        let output = try DescriptorPair()
        let errors = try DescriptorPair()
        defer {
            close(output.writing)
            close(errors.writing)
        }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.writing, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, errors.writing, 2)
        var pid: pid_t = 0
        let code = unsafe withStrings([path] + arguments) { argv in
            unsafe withStrings(environment.map { "\($0.key)=\($0.value)" }) { envp in
                unsafe posix_spawn(&pid, path, &actions, nil, argv, envp)
            }
        }
        guard code == 0 else {
            close(output.reading)
            close(errors.reading)
            throw SystemCallFailure(call: "posix_spawn \(path)", code: code)
        }
        let child = pid
        _ = living.withLock { $0.insert(child) }
        watch(child, output.reading, errors.reading, log)
        return pid
    }

    /// A thread of its own reads both outputs to their ends, then waits for the exit.
    private static func watch(
        _ pid: pid_t, _ output: Int32, _ errors: Int32, _ log: ProcessLog
    ) {
        Thread.detachNewThread {
            read(output, errors, into: log)
            var status: Int32 = 0
            while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
            _ = living.withLock { $0.remove(pid) }
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

    /// A nil-terminated array of C strings, as exec wants it.
    private static func withStrings<Result>(
        _ strings: [String],
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = unsafe strings.map { unsafe strdup($0) } + [nil]
        // No loop: swift-format 6.3.1 joins the words of `for unsafe pointer in`.
        defer { unsafe pointers.forEach { unsafe free($0) } }
        return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
            // Why forced: the array has an element, the nil.
            unsafe body(buffer.baseAddress!)
        }
    }
}
