import Glibc
import JSONCoding
import Synchronization

/// Standard output: whole lines, from any thread. It waits for the runner to read them.
final class Output: Sendable {
    private let lock = Mutex(())

    func reply(_ id: Int64, _ members: [String: JSONValue] = [:]) {
        write(members.merging(["reply": .integer(id)]) { $1 })
    }

    func reply(_ id: Int64, failure: JSONValue) { reply(id, ["failure": failure]) }

    func report(_ event: String, _ members: [String: JSONValue]) {
        write(members.merging(["event": .string(event)]) { $1 })
    }

    private func write(_ members: [String: JSONValue]) {
        var line: [UInt8] = []
        do throws(JSONEncodingFailure) {
            try JSON.encode(JSONValue.object(members), into: &line)
        } catch {
            fatalError("a line cannot be written: \(error)")
        }
        line.append(UInt8(ascii: "\n"))
        lock.withLock { _ in
            var rest = line[...]
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes {
                    unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count)
                }
                if count < 0, errno == EINTR { continue }
                // Nobody reads any more.
                guard count >= 0 else { exit(1) }
                rest = rest.dropFirst(count)
            }
        }
    }
}
