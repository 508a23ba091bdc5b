import Reactors
import Sessions

extension Registration {
    /// Registers a reactor under a name, with a clock that nobody advances.
    static func of<R: Reactor>(
        _ name: String = "fixture", activities: [String] = [],
        clock: any Clock<Duration> = ContinuousClock(), _ make: @escaping @Sendable () -> R
    ) throws -> Registration
    where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Codable {
        try Registration(
            name: name, activities: activities, examples: [], clock: clock, make: make)
    }

    static func ledger() throws -> Registration {
        try of("ledger", activities: ["said"]) { Ledger() }
    }
}

/// Bodies of the ledger's actions.
enum Post {
    static let touch = #"{"type":"touch"}"#
    static let nothing = #"{"type":"nothing"}"#
    static let reset = #"{"type":"reset"}"#
    static let refuse = #"{"type":"refuse"}"#

    static func decline(_ a: Int, late: Bool = true) -> String {
        #"{"type":"decline","a":\#(a),"late":\#(late)}"#
    }
    static func set(_ a: Int) -> String { #"{"type":"set","a":\#(a)}"# }
    static func both(_ a: Int, _ b: Int) -> String { #"{"type":"both","a":\#(a),"b":\#(b)}"# }
    static func say(_ text: String) -> String { #"{"type":"say","text":"\#(text)"}"# }
    static func several(_ a: Int) -> String { #"{"type":"several","a":\#(a)}"# }
    static func name(_ text: String?) -> String {
        #"{"type":"name","text":\#(text.map { "\"\($0)\"" } ?? "null")}"#
    }
    static func fill(_ bytes: Int) -> String { #"{"type":"fill","bytes":\#(bytes)}"# }
    static func all(_ bodies: String...) -> String { "[\(bodies.joined(separator: ","))]" }
}
