/// Figures over several measurements.
enum Statistics {
    /// The median; the mean of the middle two of an even number; 0 of none.
    static func median(_ values: [Double]) -> Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// How far the last third of a curve lies above its middle third, medians compared; what the
    /// first third shows is warm-up. 0 for fewer than six samples.
    static func growth(_ curve: [Double]) -> Double {
        guard curve.count >= 6 else { return 0 }
        let third = curve.count / 3
        return median(Array(curve.suffix(third))) - median(Array(curve[third..<2 * third]))
    }
}
