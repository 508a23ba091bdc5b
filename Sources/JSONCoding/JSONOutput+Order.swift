/// A collection whose order means nothing and changes from one process to the next.
private protocol JSONUnordered {}
extension Set: JSONUnordered {}
extension Dictionary: JSONUnordered {}

extension JSONOutput {
    /// Has the slot's container sorted as it closes, if the order of the type means nothing.
    ///
    /// Why: equal states must have equal bytes, for a journal that is replayed and for streams
    /// that are silent while a value stays the same. A dictionary whose keys are not text is
    /// an array of keys and values in turn, as Swift encodes it.
    mutating func sortAtEnd(_ slot: Int, of type: (any Any.Type)?) {
        guard let type, type is any JSONUnordered.Type, slot < frames.count else { return }
        let isPaired = frames[slot].kind == .array && type is any JSONPaired.Type
        frames[slot].order = isPaired ? .pairs : .singles
    }

    /// Sorts the open container's elements by their bytes.
    mutating func sort(_ index: Int) {
        let start = frames[index].start
        // The container alone: a copy of all that was written, for each dictionary in it, would be
        // quadratic.
        let text = Array(out[start...])
        guard let children = JSONChildren(ofContainerAt: 0, in: text) else { return }
        var ranges = children.map {
            ($0.key?.lowerBound ?? $0.value.lowerBound)..<$0.value.upperBound
        }
        if frames[index].order == .pairs {
            ranges = stride(from: 0, to: ranges.count - 1, by: 2).map {
                ranges[$0].lowerBound..<ranges[$0 + 1].upperBound
            }
        }
        ranges.sort { text[$0].lexicographicallyPrecedes(text[$1]) }
        out.removeSubrange((start + 1)...)
        for (place, range) in ranges.enumerated() {
            if place > 0 { out.append(UInt8(ascii: ",")) }
            out.append(contentsOf: text[range])
        }
    }
}

/// A collection that encodes keys and values.
private protocol JSONPaired {}
extension Dictionary: JSONPaired {}
