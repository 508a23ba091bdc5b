/// Names a running step of an effect, so that it can be cancelled or be the only one of its name.
///
/// Ids are local to the session: cancelling `"timer"` in one session does not affect another.
public struct EffectID: Hashable, Sendable {
    /// The name.
    public let name: String

    /// Makes an id from a name.
    public init(_ name: String) { self.name = name }
}

extension EffectID: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// Makes an id from a literal: `"timer"`, `"download-\(number)"`.
    public init(stringLiteral name: String) { self.init(name) }
}

extension EffectID: CustomStringConvertible {
    /// The name.
    public var description: String { name }
}

/// The rule for a step that begins while another with its id runs.
public enum EffectPolicy: Sendable {
    /// Both run. The default.
    case merge

    /// The running ones are cancelled, the new one runs.
    case latest

    /// The new step is skipped, and the running one continues; later parts of the skipped step's
    /// `.concat` do not wait.
    case first
}
