/// A collection whose order means nothing and changes from one process to the next.
private protocol JSONUnordered {}
extension Set: JSONUnordered {}
extension Dictionary: JSONUnordered {}

extension JSONWriter {
    /// How a container of the type is to be sorted as it closes.
    ///
    /// Why: equal states must have equal bytes, for a journal that is replayed and for streams
    /// that are silent while a value stays the same. A dictionary whose keys are not text is
    /// an array of keys and values in turn, as Swift encodes it.
    static func order(of type: (any Any.Type)?, as kind: JSONFrame.Kind) -> JSONFrame.Order {
        guard let type, type is any JSONUnordered.Type else { return .written }
        return kind == .array && isDictionary(type) ? .pairs : .singles
    }

    private static func isDictionary(_ type: any Any.Type) -> Bool {
        type is any JSONPaired.Type
    }

    /// Sorts the open container's elements by their bytes.
    func sort(_ index: Int) {
        let start = frames[index].start
        guard let children = JSONChildren(ofContainerAt: start, in: out) else { return }
        var ranges = children.map {
            ($0.key?.lowerBound ?? $0.value.lowerBound)..<$0.value.upperBound
        }
        if frames[index].order == .pairs {
            ranges = stride(from: 0, to: ranges.count - 1, by: 2).map {
                ranges[$0].lowerBound..<ranges[$0 + 1].upperBound
            }
        }
        let text = out
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
