/// A reactor's answer to an action that it does not carry out: a code for programs and a sentence
/// for people.
///
/// Nothing of a refused action happens, and it leaves no trace. A reactor refuses with
/// ``ReactorEffect/refuse(_:_:)``, or throws a refusal in `transform(action:)` or in a `.deferred`.
/// A Cycler throws it. After the action's first wait the client already has its answer, so a
/// refusal is a failure like any other error.
public struct Refusal: Error, Hashable, Sendable {
    /// A stable name for programs: 1 to 64 of `a-z 0-9 _`.
    public let code: String

    /// A sentence for people, at most 1 KiB.
    public let detail: String

    /// Makes a refusal.
    ///
    /// - Parameters:
    ///   - code: 1 to 64 characters of `a-z 0-9 _`. An invalid code refuses the action too, because
    ///     that is the safe outcome. The code is then `bad_refusal_code`, and the detail names the
    ///     mistake.
    ///   - detail: A sentence for people. Truncated after 1 KiB, between two characters.
    public init(_ code: String, _ detail: String) {
        if Self.isCode(code) {
            self.code = code
            self.detail = Self.cut(detail)
        } else {
            self.code = "bad_refusal_code"
            self.detail = Self.cut(
                "the reactor has refused with the code \"\(code)\", which is not 1 to 64 "
                    + "characters of a-z 0-9 _: \(detail)")
        }
    }

    // Precedent: the limit for the detail of a problem is half of this. A reactor's sentence may
    // quote a part of the state.
    package static var detailLimitBytes: Int { 1_024 }

    /// Why not a precondition: the code may be made from a client's input, and no client may end
    /// the process.
    private static func isCode(_ code: String) -> Bool {
        (1...64).contains(code.utf8.count)
            && code.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// The beginning of a text: at most ``detailLimitBytes`` of UTF-8, cut between two characters.
    package static func cut(_ text: String) -> String {
        guard text.utf8.count > detailLimitBytes else { return text }
        var (bytes, end) = (0, text.startIndex)
        while end < text.endIndex {
            bytes += text[end].utf8.count
            guard bytes <= detailLimitBytes else { break }
            text.formIndex(after: &end)
        }
        return String(text[..<end])
    }
}

extension Refusal: CustomStringConvertible {
    /// `bid_too_low: The highest bid is 12.`
    public var description: String { "\(code): \(detail)" }
}
