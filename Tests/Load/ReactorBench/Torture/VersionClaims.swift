/// The versions that were acknowledged; each may be acknowledged once only.
///
/// Adjacent ranges are merged, so that the list stays short while nearly all are claimed.
struct VersionClaims {
    /// Invariant: the ranges are in order, not adjacent, and not empty.
    private(set) var ranges: [Range<UInt64>] = []

    /// Adds a range; returns false if a part of it was claimed before.
    mutating func claim(_ range: Range<UInt64>) -> Bool {
        guard !range.isEmpty else { return true }
        // The first range that begins after it.
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].lowerBound < range.upperBound {
                low = middle + 1
            } else {
                high = middle
            }
        }
        if low > 0, ranges[low - 1].upperBound > range.lowerBound { return false }
        let joinsBefore = low > 0 && ranges[low - 1].upperBound == range.lowerBound
        let joinsAfter = low < ranges.count && ranges[low].lowerBound == range.upperBound
        switch (joinsBefore, joinsAfter) {
        case (true, true):
            ranges[low - 1] = ranges[low - 1].lowerBound..<ranges[low].upperBound
            ranges.remove(at: low)
        case (true, false): ranges[low - 1] = ranges[low - 1].lowerBound..<range.upperBound
        case (false, true): ranges[low] = range.lowerBound..<ranges[low].upperBound
        case (false, false): ranges.insert(range, at: low)
        }
        return true
    }
}
