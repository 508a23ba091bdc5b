internal import JSONCoding
internal import Storage
internal import Wire

/// The present activity of a session, for operators.
///
/// `{"awake":…,"subscribers":…,"effects":[…],"sources":[…],"stubbed":…,"kept":{…},"timers":[…]}`
package struct SessionRuntime: Sendable, Encodable {
    /// A running effect: a step of a reactor's, or an action of a Cycler that waits.
    package struct Effect: Sendable, Encodable {
        /// The number of the step, as the action log has it; nil for an action of a Cycler.
        let step: UInt64?
        /// The name that the reactor gave it, if any.
        let id: String?
        /// The number of the action that has started it.
        let action: UInt64
        /// The time at which it began, UTC.
        let since: String

        /// - Parameter since: milliseconds since 1970 (UTC).
        init(step: UInt64? = nil, id: String? = nil, action: UInt64, since: Int64) {
            self.step = step
            self.id = id
            self.action = action
            var text: [UInt8] = []
            Timestamp.append(milliseconds: since, to: &text)
            self.since = String(decoding: text, as: UTF8.self)
        }
    }

    /// The history that the service has: the journal's, or without an archive that of memory.
    package struct Kept: Sendable, Encodable {
        package struct Start: Sendable, Encodable {
            var version: UInt64
            var position: String
        }

        /// The state at this version and everything after this position is kept.
        var from: Start
        /// The number of kept records.
        var records: UInt64
    }

    var awake = false
    var subscribers: Int
    /// The oldest one first. A session that sleeps has none.
    var effects: [Effect] = []
    /// The names of the sources that the session listens to.
    var sources: [String] = []
    var stubbed = false
    var kept: Kept
    /// The timers, the one that is due next first. Their actions are already JSON.
    var timers: [SessionTimer] = []

    private enum CodingKeys: CodingKey {
        case awake, subscribers, effects, sources, stubbed, kept
    }

    /// The runtime of a session of which at most the subscribers are in memory.
    init(subscribers: Int, kept: Kept) {
        self.subscribers = subscribers
        self.kept = kept
    }

    /// The runtime as one line of JSON, with a line break.
    ///
    /// - Parameter hasActions: Whether it has the actions of timers.
    package func line(hasActions: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            try JSON.encode(self, into: &bytes)
        } catch {
            // Strings and integers always have JSON.
            bytes = Array("{}".utf8)
        }
        bytes.removeLast()
        appendTimers(hasActions, to: &bytes)
        bytes.append(contentsOf: "}\n".utf8)
        return bytes
    }

    /// `"timers":[{"name":…,"number":…,"due":…,"action":…}]`. A large action is left out.
    private func appendTimers(_ hasActions: Bool, to out: inout [UInt8]) {
        out.append(contentsOf: ",\"timers\":[".utf8)
        for (index, timer) in timers.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            timer.appendHead(to: &out)
            if hasActions, timer.content.count <= Self.actionLimit {
                out.append(contentsOf: ",\"action\":".utf8)
                out.append(contentsOf: timer.content)
            }
            out.append(UInt8(ascii: "}"))
        }
        out.append(UInt8(ascii: "]"))
    }

    private static let actionLimit = 16_384
}
