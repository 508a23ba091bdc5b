internal import CSpawn
internal import Foundation

/// Starts processes for tests, by posix_spawn(3).
///
/// Why not Foundation's `Process`: it does not support many at once, because a pipe's end that
/// leaks into another child never closes. And its `run()` reads beyond the buffer of readdir(3)
/// when this process has many descriptors, so that the tests end with a bad pointer now and
/// then (seen on Swift 6.3.1 with AddressSanitizer: `findMaximumOpenFromProcSelfFD` copies
/// whole entries).
package enum TestProcess {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Starts the process, and returns its id, with these standard streams; nil stands for
    /// /dev/null, and for this process's environment.
    package static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String: String]? = nil,
        input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil
    ) throws -> Int32 {
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
        let variables = environment ?? ProcessInfo.processInfo.environment
        var pid: pid_t = 0
        let code = unsafe withStrings([path] + arguments) { argv in
            unsafe withStrings(variables.map { "\($0.key)=\($0.value)" }) { envp in
                unsafe posix_spawn(&pid, path, &actions, &attributes, argv, envp)
            }
        }
        guard code == 0 else {
            throw Failure(
                description: "posix_spawn \(path): \(unsafe String(cString: strerror(code)))")
        }
        return pid
    }

    /// Waits for its end.
    ///
    /// - Returns: The exit status; 128 and the signal's number if a signal has ended it.
    @discardableResult
    package static func wait(for pid: Int32) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(pid, &status, 0) < 0 {
            guard errno == EINTR else { return -1 }
        }
        let signal = status & 0x7f
        return signal == 0 ? status >> 8 & 0xff : 128 + signal
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
