internal import ClientMachine
internal import JSONCoding

/// An element of a remote session's action log.
public enum RemoteLogEvent: Sendable, Hashable {
    /// An entry.
    case entry(RemoteLogEntry)
    /// The entries that follow do not continue those before, for the server's reason: `trimmed`,
    /// `generation`, `ahead` or `malformed`.
    case reset(reason: String)
    /// The session has ended. Nothing follows.
    case ended(EndReason)
    /// The server refuses to serve the log. Nothing follows.
    case failed(ProblemDetails)

    init(_ delivery: LogDelivery) {
        switch delivery {
        case .entry(let event): self = .entry(RemoteLogEntry(event))
        case .reset(let reason): self = .reset(reason: reason)
        case .ended(let reason): self = .ended(EndReason(reason))
        case .failed(let problem): self = .failed(ProblemDetails(problem))
        }
    }

    var isLast: Bool {
        switch self {
        case .entry, .reset: false
        case .ended, .failed: true
        }
    }

    /// Invariant: as the delivery's.
    var amount: LogAmount {
        switch self {
        case .entry(let entry): LogAmount(entries: 1, bytes: entry.line.count)
        case .reset: LogAmount(entries: 1)
        case .ended, .failed: LogAmount()
        }
    }
}

/// An entry of a remote session's action log, as the server shows it.
///
/// ``entry(of:)`` has it with the types of a reactor, as in this process.
public struct RemoteLogEntry: Sendable, Hashable {
    /// The kind, such as `action.received` or `mutation`. A newer server may have further ones.
    public let kind: String
    /// The position in the log. One with a third part is valid in the log alone.
    public let position: Position
    /// JSON: `{"position":…,"time":…,"action":…,"version":…,"kind":…,"content":…}`.
    let line: [UInt8]

    init(_ event: StreamEvent) {
        kind = event.name
        position = Position(event.position)
        line = event.data
    }

    /// The entry as one line of JSON.
    public var text: String { String(decoding: line, as: UTF8.self) }

    /// The number of the action that caused it, from 1 within the session; 0 if none did.
    public var action: UInt64 { head?.action ?? 0 }

    /// The number of mutations with this one; nil for entries that are none.
    public var version: UInt64? { head?.version }

    /// The server's time since 1970-01-01T00:00:00Z, in milliseconds; nil if it is unreadable.
    public var time: Duration? {
        guard let text = head?.time, let seconds = JSONDate.seconds(text) else { return nil }
        return .milliseconds(Int64(seconds * 1_000 + 0.5)) + Self.referenceDate
    }

    /// The content, whose form depends on the kind: of a `mutation` the mutation, of an `activity`
    /// the activity, of others an object with members of their own.
    ///
    /// - Throws: `undecodable` if it is not a `Value`.
    public func content<Value: Decodable>(
        as type: Value.Type = Value.self
    ) throws(ClientFailure) -> Value {
        do {
            return try JSON.decode(type, from: JSON.members(of: line)?["content"] ?? [])
        } catch {
            throw .undecodable("the entry \(position): \(error.sentence)")
        }
    }

    /// 2001-01-01T00:00:00Z.
    private static let referenceDate = Duration.seconds(978_307_200)

    private struct Head: Decodable {
        let time: String?
        let action: UInt64?
        let version: UInt64?
    }

    private var head: Head? { try? JSON.decode(Head.self, from: line) }
}
