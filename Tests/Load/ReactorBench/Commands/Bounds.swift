import ArgumentParser

/// Bounds of numeric options.
enum Bounds {
    /// Throws a sentence that names the option unless `value` lies in `range`.
    static func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws {
        guard range.contains(value) else {
            let upper = range.upperBound == Int.max ? "or more" : "to \(range.upperBound)"
            throw ValidationError("\(name) \(value): expected \(range.lowerBound) \(upper)")
        }
    }
}
