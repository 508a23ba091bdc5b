/// A collection whose order has no meaning and differs between processes.
private protocol JSONUnordered {}
extension Set: JSONUnordered {}
extension Dictionary: JSONUnordered {}

extension JSONOutput {
    /// Sorts the slot's container when it closes, if the order of the type has no meaning.
    ///
    /// Why: equal states must have equal bytes, for replays and for streams that send nothing while
    /// a value is unchanged. Swift encodes other dictionaries as arrays of keys and values.
    mutating func sortAtEnd(_ slot: Int, of type: (any Any.Type)?) {
        guard let type, type is any JSONUnordered.Type, slot < frames.count else { return }
        let isPaired = frames[slot].kind == .array && type is any JSONPaired.Type
        frames[slot].order = isPaired ? .pairs : .singles
    }

    /// Sorts the open container's elements by their bytes.
    mutating func sort(_ index: Int) {
        let start = frames[index].start
        // Only the container is copied: copies of the whole text would be quadratic.
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
