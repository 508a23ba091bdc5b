// Arrays: Myers' algorithm finds the elements that two arrays have in common.
//
// Source: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986).
extension JSONDifference {
    /// - Parameters and result: as of ``compare(_:level:)``.
    mutating func elements(_ places: Places, level: Int?) throws(GiveUp) -> Places {
        let first = children(places, level: level)
        var index = level.map { $0 < open.count ? open[$0].index : 0 } ?? 0
        let rest = try self.rest(from: first, areMembers: false)
        let isLast = isDone
        isDone = false
        let (one, other) = try trimmed(rest, &index)
        var (before, before2) = (one.startIndex, other.startIndex)
        for run in try common(one, other) {
            try change(one[before..<run.one], other[before2..<run.other], &index, first, level)
            index += run.count
            (before, before2) = (run.one + run.count, run.other + run.count)
        }
        try change(one[before...], other[before2...], &index, first, level)
        held -= rest.one.count + rest.other.count
        isDone = isLast
        return rest.ends
    }

    /// The elements without the equal ones at the end and at the beginning, which are counted.
    private mutating func trimmed(
        _ rest: Rest, _ index: inout Int
    ) throws(GiveUp) -> (ArraySlice<Child>, ArraySlice<Child>) {
        var (one, other) = (rest.one[...], rest.other[...])
        while let last = one.last, let last2 = other.last,
            try areEqual(last.value, last2.value)
        {
            one.removeLast()
            other.removeLast()
        }
        while let first = one.first, let first2 = other.first,
            try areEqual(first.value, first2.value)
        {
            one.removeFirst()
            other.removeFirst()
            index += 1
        }
        return (one, other)
    }

    /// Appends the operations for elements that are not in both arrays. An element that replaces
    /// another is compared with it.
    ///
    /// - Parameters:
    ///   - index: of the first, in the array that the operations before have made.
    ///   - first: where the comparison of the arrays has begun, and their `level`.
    private mutating func change(
        _ one: ArraySlice<Child>, _ other: ArraySlice<Child>, _ index: inout Int, _ first: Places,
        _ level: Int?
    ) throws(GiveUp) {
        for (before, after) in zip(one, other) {
            let isFirst =
                before.value.lowerBound == first.one && after.value.lowerBound == first.other
            _ = try at(String(index).utf8) { (difference) throws(GiveUp) in
                try difference.compare(
                    (before.value.lowerBound, after.value.lowerBound),
                    level: isFirst ? level.map { $0 + 1 } : nil)
            }
            // `isDone` is only about these elements, not about the later ones.
            isDone = false
            index += 1
        }
        for _ in one.dropFirst(other.count) {
            try at(String(index).utf8) { (difference) throws(GiveUp) in
                try difference.append("remove")
            }
        }
        for child in other.dropFirst(one.count) {
            try at(String(index).utf8) { (difference) throws(GiveUp) in
                try difference.append("add", child.value)
            }
            index += 1
        }
    }

    // MARK: Common elements

    /// Consecutive elements of both arrays.
    struct Run {
        var one: Int
        var other: Int
        var count: Int
    }

    /// The common elements, in order; none if too many others are between them.
    private mutating func common(
        _ one: ArraySlice<Child>, _ other: ArraySlice<Child>
    ) throws(GiveUp) -> [Run] {
        guard !one.isEmpty, !other.isEmpty, one.count + other.count > 2 else { return [] }
        try count(bytes(of: one) + bytes(of: other))
        let hashes = one.map { JSONText.hash(self.one, $0.value) }
        let hashes2 = other.map { JSONText.hash(self.other, $0.value) }
        var search = EditSearch(hashes, hashes2, limits.edits)
        let runs = search.runs(atMost: limits.work - work)
        try count(search.work)
        // Two values may have one hash.
        for run in runs ?? [] {
            for offset in 0..<run.count {
                let (before, after) = (
                    one[one.startIndex + run.one + offset].value,
                    other[other.startIndex + run.other + offset].value
                )
                guard try areEqual(before, after) else { throw .impossible }
            }
        }
        return (runs ?? []).map {
            Run(one: one.startIndex + $0.one, other: other.startIndex + $0.other, count: $0.count)
        }
    }

    private func bytes(of children: ArraySlice<Child>) -> Int {
        guard let first = children.first, let last = children.last else { return 0 }
        return last.value.upperBound - first.value.lowerBound
    }
}

/// Myers' search for the fewest elements that only one of two sequences has.
struct EditSearch {
    private let one: [Int]
    private let other: [Int]
    private let limit: Int
    /// The comparisons so far.
    private(set) var work = 0
    /// For each number of edits, the farthest index in `one` that is reached on each diagonal.
    private var reached: [[Int]] = []

    init(_ one: [Int], _ other: [Int], _ limit: Int) {
        (self.one, self.other, self.limit) = (one, other, limit)
    }

    /// The runs of equal elements; nil if there are more edits than the limit, or if finding them
    /// takes more comparisons than `room`.
    mutating func runs(atMost room: Int) -> [JSONDifference.Run]? {
        guard abs(one.count - other.count) <= limit else { return nil }
        // The element of diagonal k, the index in `one` minus that in `other`, is limit + k + 1.
        var farthest = Array(repeating: 0, count: 2 * limit + 3)
        for edits in 0...limit {
            reached.append(farthest)
            for k in stride(from: -edits, through: edits, by: 2) {
                let (below, above) = (farthest[limit + k], farthest[limit + k + 2])
                var index = k == -edits || (k != edits && below < above) ? above : below + 1
                let begin = index
                while index < one.count, index - k < other.count, index - k >= 0,
                    one[index] == other[index - k]
                {
                    index += 1
                }
                work += index - begin + 1
                guard work <= room else { return nil }
                farthest[limit + k + 1] = index
                if index == one.count, index - k == other.count { return traced(edits) }
            }
        }
        return nil
    }

    /// The runs of equal elements, traced back from the ends of both sequences.
    private func traced(_ edits: Int) -> [JSONDifference.Run] {
        var runs: [JSONDifference.Run] = []
        var (x, y) = (one.count, other.count)
        for edits in stride(from: edits, through: 0, by: -1) {
            let farthest = reached[edits]
            let k = x - y
            let (below, above) = (farthest[limit + k], farthest[limit + k + 2])
            let isInsertion = k == -edits || (k != edits && below < above)
            let start = edits == 0 ? 0 : isInsertion ? above : below + 1
            if x > start {
                runs.append(JSONDifference.Run(one: start, other: start - k, count: x - start))
            }
            guard edits > 0 else { break }
            x = isInsertion ? above : below
            y = x - (isInsertion ? k + 1 : k - 1)
        }
        return runs.reversed()
    }
}
