extension JSONOutput {
    /// The path from the root to the value at `offset`, parsed from the text before it.
    ///
    /// Why: a path is needed only after a failure, and the text contains it. Updating a path
    /// would cost every member of every value.
    func path(to offset: Int) -> [any CodingKey] {
        var path: [JSONPathKey] = []
        var isObject: [Bool] = []
        var place = origin
        while place < min(offset, out.count) {
            switch out[place] {
            case UInt8(ascii: "\""):
                let end = JSONSkipper.end(ofStringAt: place, in: out) ?? out.count
                if isObject.last == true, end < out.count, out[end] == UInt8(ascii: ":") {
                    path[path.count - 1] = JSONPathKey(
                        JSONText.unescaped(out[place + 1..<end - 1]))
                }
                place = end
                continue
            case UInt8(ascii: "{"):
                isObject.append(true)
                path.append(JSONPathKey(""))
            case UInt8(ascii: "["):
                isObject.append(false)
                path.append(JSONPathKey(0))
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                isObject.removeLast()
                path.removeLast()
            case UInt8(ascii: ","):
                if isObject.last == false, let index = path.last?.intValue {
                    path[path.count - 1] = JSONPathKey(index + 1)
                }
            default: break
            }
            place += 1
        }
        return path
    }

    func path(of frame: Int) -> [any CodingKey] {
        frame < frames.count ? path(to: frames[frame].start) : []
    }
}
