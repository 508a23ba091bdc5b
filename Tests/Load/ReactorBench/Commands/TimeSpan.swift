import ArgumentParser

/// A duration on the command line: `500ms`, `10s`, `2m`; a bare number is seconds.
struct TimeSpan: ExpressibleByArgument, Equatable, Sendable {
    var nanoseconds: UInt64

    /// The longest span that is accepted: a day.
    static let limitSeconds = 86_400.0

    init(seconds: Double) {
        nanoseconds = UInt64(seconds * 1_000_000_000)
    }

    init?(argument: String) {
        let units: [(String, Double)] = [("ms", 0.001), ("us", 0.000_001), ("s", 1), ("m", 60)]
        var number = Substring(argument)
        var scale = 1.0
        for (suffix, seconds) in units where argument.hasSuffix(suffix) {
            number = argument.dropLast(suffix.count)
            scale = seconds
            break
        }
        guard let value = Double(number), value >= 0, value * scale <= Self.limitSeconds else {
            return nil
        }
        self.init(seconds: value * scale)
    }

    /// The span in seconds.
    var seconds: Double { Double(nanoseconds) / 1_000_000_000 }

    var defaultValueDescription: String {
        nanoseconds % 1_000_000_000 == 0
            ? "\(nanoseconds / 1_000_000_000)s" : "\(nanoseconds / 1_000_000)ms"
    }
}
