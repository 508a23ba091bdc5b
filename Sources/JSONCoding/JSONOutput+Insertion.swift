// Writing to a container that is closed already: rare, so it may cost a copy of what follows.

extension JSONSheet {
    /// What stood behind the place that is written at.
    struct Cut {
        let offset: Int
        let tail: [UInt8]
        /// The innermost frame before.
        let innermost: Int
    }

    /// Cuts the text at `offset`, inside of `frame`, which is open again until `restore`.
    mutating func cut(at offset: Int, reopening frame: Int) -> Cut {
        let cut = Cut(offset: offset, tail: Array(out[offset...]), innermost: innermost)
        out.removeSubrange(offset...)
        frames[frame].isOpen = true
        innermost = frame
        return cut
    }

    /// The same for a slot that was closed without a value: what stands there instead goes.
    mutating func cut(replacing slot: Int) -> Cut {
        let cut = cut(at: frames[slot].end + 1, reopening: slot)
        out.removeSubrange(frames[slot].start...)
        return cut
    }

    /// Puts the rest of the text back, and moves the frames that stand in it.
    mutating func restore(_ cut: Cut, _ mark: Mark) {
        while innermost > mark.frame { close() }
        let shift = out.count - cut.offset
        for index in 0..<mark.frameCount where index != mark.frame {
            if frames[index].start >= cut.offset { frames[index].start += shift }
            if !frames[index].isOpen, frames[index].end >= cut.offset { frames[index].end += shift }
        }
        frames[mark.frame].end = out.count
        frames[mark.frame].isOpen = false
        innermost = cut.innermost
        if frames[mark.frame].kind == .slot {
            // A value failed here and was rolled back: the slot is empty as before.
            out.append(contentsOf: "{}".utf8)
            frames[mark.frame].end = out.count - 1
        }
        out.append(contentsOf: cut.tail)
    }
}
