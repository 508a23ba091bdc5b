/// Figures over several measurements.
enum Statistics {
    /// The median. An even number of values gives the mean of the middle two; no values give 0.
    static func median(_ values: [Double]) -> Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// The difference between the median of a curve's last third and that of its middle third; the
    /// first third is warm-up. 0 for fewer than six samples.
    static func growth(_ curve: [Double]) -> Double {
        guard curve.count >= 6 else { return 0 }
        let third = curve.count / 3
        return median(Array(curve.suffix(third))) - median(Array(curve[third..<2 * third]))
    }
}
