// Objects.
extension JSONDifference {
    /// - Parameters and result: as of ``compare(_:level:)``.
    mutating func members(_ places: Places, level: Int?) throws(GiveUp) -> Places {
        var here = children(places, level: level)
        var inner = level.map { $0 + 1 }
        while let key = self.key(at: here.one, in: one),
            let key2 = self.key(at: here.other, in: other)
        {
            if areFollowedByEqual(here) {
                isDone = true
                return here
            }
            try count(key.count + 4)
            guard one[key].elementsEqual(other[key2]) else { break }
            let values = (key.upperBound + 2, key2.upperBound + 2)
            let ends = try at(other[key2]) { (difference) throws(GiveUp) in
                try difference.compare(values, level: inner)
            }
            if isDone { return ends }
            inner = nil
            here = (afterComma(ends.one, in: one), afterComma(ends.other, in: other))
        }
        if isEnd(here.one, in: one), isEnd(here.other, in: other) {
            return (here.one + 1, here.other + 1)
        }
        return try membersByName(here, of: places.other)
    }

    /// Compares the rest of two objects. The order of the members differs.
    ///
    /// - Parameter object: the place of the other object.
    private mutating func membersByName(
        _ places: Places, of object: Int
    ) throws(GiveUp) -> Places {
        let rest = try self.rest(from: places, areMembers: true)
        let isLast = isDone
        isDone = false
        var places: [Int: Int] = [:]
        places.reserveCapacity(rest.one.count)
        for (index, child) in rest.one.enumerated() {
            let known = places.updateValue(index, forKey: hash(one, child.key))
            guard known == nil else { throw .impossible }
        }
        var isLonger = false
        for child in rest.other {
            guard let index = places.removeValue(forKey: hash(other, child.key)) else {
                isLonger = true
                try add(child)
                continue
            }
            let before = rest.one[index]
            guard one[before.key].elementsEqual(other[child.key]) else { throw .impossible }
            guard try !areEqual(before.value, child.value) else { continue }
            _ = try at(other[child.key]) { (difference) throws(GiveUp) in
                try difference.compare(
                    (before.value.lowerBound, child.value.lowerBound), level: nil)
            }
            // `isDone` is only about these members, not about the later ones.
            isDone = false
        }
        // Sorted by position, so that equal states give equal patches.
        for index in places.values.sorted() {
            try at(one[rest.one[index].key]) { (difference) throws(GiveUp) in
                try difference.append("remove")
            }
        }
        // Each other name is one of those before.
        if isLonger { try requireUniqueNames(of: object) }
        held -= rest.one.count + rest.other.count
        isDone = isLast
        return rest.ends
    }

    private mutating func add(_ child: Child) throws(GiveUp) {
        try at(other[child.key]) { (difference) throws(GiveUp) in
            try difference.append("add", child.value)
        }
    }

    private func hash(_ bytes: [UInt8], _ range: Range<Int>) -> Int {
        JSONText.hash(bytes, range)
    }

    /// The places of the first children that are compared.
    func children(_ places: Places, level: Int?) -> Places {
        guard let level, level < open.count else { return (places.one + 1, places.other + 1) }
        return (open[level].child, open[level].child)
    }

    /// The key at a place, without its quotes; nil if there is none.
    private func key(at place: Int, in bytes: [UInt8]) -> Range<Int>? {
        guard place < bytes.count, bytes[place] == UInt8(ascii: "\""),
            let end = JSONSkipper.end(ofStringAt: place, in: bytes), end - place >= 2,
            end < bytes.count, bytes[end] == UInt8(ascii: ":")
        else { return nil }
        return place + 1..<end - 1
    }

    func afterComma(_ place: Int, in bytes: [UInt8]) -> Int {
        place < bytes.count && bytes[place] == UInt8(ascii: ",") ? place + 1 : place
    }

    func isEnd(_ place: Int, in bytes: [UInt8]) -> Bool {
        guard place < bytes.count else { return false }
        return bytes[place] == UInt8(ascii: "}") || bytes[place] == UInt8(ascii: "]")
    }

    // MARK: Children

    /// An element or a member. Its ranges as two numbers each: there may be many.
    struct Child {
        fileprivate var keyStart: UInt32
        fileprivate var keyEnd: UInt32
        fileprivate var start: UInt32
        fileprivate var end: UInt32

        /// Without its quotes; empty for an element.
        var key: Range<Int> { Int(keyStart)..<Int(keyEnd) }
        var value: Range<Int> { Int(start)..<Int(end) }
    }

    struct Rest {
        var one: [Child] = []
        var other: [Child] = []
        /// The ends of both, unless ``JSONDifference/isDone`` is set.
        var ends: Places = (0, 0)
    }

    /// The children of two arrays or objects from two places on, up to the equal end of the texts
    /// if it begins in them.
    mutating func rest(from places: Places, areMembers: Bool) throws(GiveUp) -> Rest {
        var (rest, here) = (Rest(), places)
        let shift = other.count - one.count
        while true {
            let (isEnd1, isEnd2) = (isEnd(here.one, in: one), isEnd(here.other, in: other))
            if isEnd1, isEnd2 {
                rest.ends = (here.one + 1, here.other + 1)
                return rest
            }
            if areFollowedByEqual(here) {
                isDone = true
                return rest
            }
            if !isEnd1, isEnd2 || here.one + shift <= here.other {
                rest.one.append(try nextChild(&here.one, in: one, areMembers))
            } else {
                rest.other.append(try nextChild(&here.other, in: other, areMembers))
            }
        }
    }

    private mutating func nextChild(
        _ place: inout Int, in bytes: [UInt8], _ areMembers: Bool
    ) throws(GiveUp) -> Child {
        held += 1
        guard held <= limits.children, bytes.count < UInt32.max else { throw .impossible }
        let key = areMembers ? self.key(at: place, in: bytes) : place..<place
        guard let key else { throw .impossible }
        let start = areMembers ? key.upperBound + 2 : place
        guard let end = JSONSkipper.end(ofValueAt: start, in: bytes) else { throw .impossible }
        try count(end - place)
        place = afterComma(end, in: bytes)
        return Child(
            keyStart: UInt32(key.lowerBound), keyEnd: UInt32(key.upperBound), start: UInt32(start),
            end: UInt32(end))
    }
}
