// Design: both texts are read side by side, without a tree, which would take many times the bytes
// of a large state. The texts usually differ in one place. So their equal beginnings and ends are
// skipped first, by words. One pass over the equal beginning then finds the arrays and objects that
// are open at the first difference. The comparison begins there, and ends where the equal end
// begins. Members are compared in their order as long as both texts have it; then by name.

extension JSONPatch {
    /// The most that a difference may cost.
    package struct DifferenceLimits: Sendable {
        /// Bytes that are read, and comparisons of elements. A text is read several times if it has
        /// many arrays around the difference.
        package var work = 16 << 20
        /// Elements and members that are held at a time. Each takes 24 bytes.
        package var children = 1 << 17
        /// Elements that two arrays do not have in common. With more, they are compared one by one.
        package var edits = 64

        package init() {}
    }

    /// The text of a patch that changes `one` to `other`; nil if it is not smaller than half of
    /// `other`, or if the search exceeds the limits.
    ///
    /// It has `add`, `remove` and `replace` only. The order of members is not part of a value, so a
    /// patch does not change it. Numbers with different spellings are different.
    ///
    /// Nil also if an object of either text has two members of one name: a pointer names only one.
    ///
    /// - Parameters:
    ///   - one: JSON as ``JSON/encode(_:into:)`` writes it. For other bytes the result is nil or
    ///     meaningless.
    ///   - other: the same.
    ///   - isUnique: whether no object of `one` is known to have two members of one name; set to
    ///     whether none of `other` has, so that each text is searched once.
    ///   - work: what was done, in the unit of ``DifferenceLimits/work``.
    package static func difference(
        from one: [UInt8], to other: [UInt8], within limits: DifferenceLimits = DifferenceLimits(),
        isUnique: inout Bool, work: inout Int
    ) -> [UInt8]? {
        var difference = JSONDifference(one, other, limits)
        defer { work += difference.work }
        let patch = difference.patch(isUnique: isUnique)
        isUnique = patch != nil
        return patch
    }

    package static func difference(from one: [UInt8], to other: [UInt8]) -> [UInt8]? {
        var (isUnique, work) = (false, 0)
        return difference(from: one, to: other, isUnique: &isUnique, work: &work)
    }
}

/// The difference between two JSON texts, while it is found.
struct JSONDifference {
    enum GiveUp: Error {
        /// The operations are longer than the maximum of the patch.
        case tooLong
        /// A limit is reached, or the text is not JSON as this module writes it.
        case impossible
    }

    /// Offsets in both texts: after two values, or of two children.
    typealias Places = (one: Int, other: Int)

    let one: [UInt8]
    let other: [UInt8]
    let limits: JSONPatch.DifferenceLimits
    private(set) var work = 0
    /// The elements and members that are held.
    var held = 0
    /// The operations so far.
    private(set) var out: [UInt8] = [UInt8(ascii: "[")]
    /// The pointer of the present part, escaped for JSON.
    private(set) var path: [UInt8] = []
    /// The arrays and objects that are open at the first difference, from the root.
    private(set) var open: [Open] = []
    /// The number of equal bytes at the ends of the texts.
    private var equalEnd = 0
    /// Whether the rest of both texts is equal.
    var isDone = false

    /// An array or object that is open at the first difference.
    struct Open {
        /// The offset of the element, or the key of the member, that is compared first.
        var child: Int
        /// The element's index.
        var index = 0
    }

    init(_ one: [UInt8], _ other: [UInt8], _ limits: JSONPatch.DifferenceLimits) {
        (self.one, self.other, self.limits) = (one, other, limits)
    }

    mutating func patch(isUnique: Bool) -> [UInt8]? {
        let equal = JSONText.equalBeginning(one, other)
        work += (equal + one.count + other.count) / 8
        equalEnd = JSONText.equalEnd(one, other, below: min(one.count, other.count) - equal)
        do throws(GiveUp) {
            if !isUnique { try requireUniqueNames(one, 0..<one.count) }
            guard equal < max(one.count, other.count) else { return Array("[]".utf8) }
            try findOpen(before: equal)
            _ = try compare((0, 0), level: 0)
        } catch {
            return nil
        }
        out.append(UInt8(ascii: "]"))
        return out.count < other.count / 2 ? out : nil
    }

    /// Finds the arrays and objects that are open at an offset.
    private mutating func findOpen(before end: Int) throws(GiveUp) {
        var place = 0
        try count(end)
        while place < end {
            switch one[place] {
            case UInt8(ascii: "\""):
                guard let next = JSONSkipper.end(ofStringAt: place, in: one), next <= end else {
                    return
                }
                place = next
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): open.append(Open(child: place + 1))
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
            case UInt8(ascii: ",") where !open.isEmpty:
                open[open.count - 1].child = place + 1
                open[open.count - 1].index += 1
            default: break
            }
            place += 1
        }
    }

    mutating func count(_ bytes: Int) throws(GiveUp) {
        work += bytes
        if work > limits.work { throw .impossible }
    }

    /// Whether the same bytes follow two places of equal nesting.
    func areFollowedByEqual(_ places: Places) -> Bool {
        places.one >= one.count - equalEnd
            && one.count - places.one == other.count - places.other
    }

    // MARK: Values

    /// Appends the operations for two values, of which the first has the present path.
    ///
    /// - Parameter level: the number of arrays and objects around the values, if the first
    ///   difference of the texts is in them or after them; nil if it is before them.
    /// - Returns: the ends of both values, unless ``isDone`` is set.
    mutating func compare(_ places: Places, level: Int?) throws(GiveUp) -> Places {
        let first = byte(places)
        let isObject = first == (UInt8(ascii: "{"), UInt8(ascii: "{"))
        guard isObject || first == (UInt8(ascii: "["), UInt8(ascii: "[")) else {
            return try compareWhole(places)
        }
        let (begin, depth, children) = (out.count, path.count, held)
        do throws(GiveUp) {
            let ends =
                isObject
                ? try members(places, level: level) : try elements(places, level: level)
            guard !isDone, out.count - begin > ends.other - places.other + path.count + 40 else {
                return ends
            }
        } catch {
            guard error == .tooLong else { throw error }
        }
        // The value is shorter than the operations.
        out.removeLast(out.count - begin)
        path.removeLast(path.count - depth)
        (held, isDone) = (children, false)
        return try compareWhole(places)
    }

    private func byte(_ places: Places) -> (UInt8, UInt8) {
        (
            places.one < one.count ? one[places.one] : 0,
            places.other < other.count ? other[places.other] : 0
        )
    }

    private mutating func compareWhole(_ places: Places) throws(GiveUp) -> Places {
        let ends = try self.ends(places)
        let value = places.other..<ends.other
        if try !areEqual(places.one..<ends.one, value) { try append("replace", value) }
        return ends
    }

    mutating func ends(_ places: Places) throws(GiveUp) -> Places {
        guard let end = JSONSkipper.end(ofValueAt: places.one, in: one),
            let otherEnd = JSONSkipper.end(ofValueAt: places.other, in: other)
        else { throw .impossible }
        try count(end - places.one + otherEnd - places.other)
        return (end, otherEnd)
    }

    mutating func areEqual(_ range: Range<Int>, _ range2: Range<Int>) throws(GiveUp) -> Bool {
        guard range.count == range2.count else { return false }
        try count(range.count / 8 + 1)
        return JSONText.areEqual(one, range, other, range2)
    }

    // MARK: Operations

    /// Appends an operation at the present path.
    mutating func append(_ name: String, _ value: Range<Int>? = nil) throws(GiveUp) {
        if out.count > 1 { out.append(UInt8(ascii: ",")) }
        out.append(contentsOf: "{\"op\":\"\(name)\",\"path\":\"".utf8)
        out.append(contentsOf: path)
        out.append(UInt8(ascii: "\""))
        if let value {
            guard out.count + value.count < other.count / 2 else { throw .tooLong }
            try requireUniqueNames(other, value)
            out.append(contentsOf: ",\"value\":".utf8)
            out.append(contentsOf: other[value])
        }
        out.append(UInt8(ascii: "}"))
        if out.count >= other.count / 2 { throw .tooLong }
    }

    /// Calls `act` with a longer path.
    ///
    /// - Parameter token: escaped for JSON.
    mutating func at<Result>(
        _ token: some Sequence<UInt8>, _ act: (inout JSONDifference) throws(GiveUp) -> Result
    ) throws(GiveUp) -> Result {
        let length = path.count
        path.append(UInt8(ascii: "/"))
        for byte in token {
            switch byte {
            case UInt8(ascii: "~"): path.append(contentsOf: "~0".utf8)
            case UInt8(ascii: "/"): path.append(contentsOf: "~1".utf8)
            default: path.append(byte)
            }
        }
        defer { path.removeLast(path.count - length) }
        return try act(&self)
    }
}
