// Writing to a container that is closed already: rare, so it may cost a copy of what follows.

extension JSONOutput {
    /// The text behind the position that is written at.
    struct Insertion {
        let offset: Int
        let tail: [UInt8]
        /// The innermost frame before.
        let innermost: Int
    }

    /// Cuts the text at `offset`, inside of `frame`, which is open again until `endInsertion`.
    mutating func beginInsertion(at offset: Int, reopening frame: Int) -> Insertion {
        let insertion = Insertion(offset: offset, tail: Array(out[offset...]), innermost: innermost)
        out.removeSubrange(offset...)
        frames[frame].isOpen = true
        innermost = frame
        return insertion
    }

    /// The same for a slot that was closed without a value: what stands there instead goes.
    mutating func beginInsertion(replacing slot: Int) -> Insertion {
        let insertion = beginInsertion(at: frames[slot].end + 1, reopening: slot)
        out.removeSubrange(frames[slot].start...)
        return insertion
    }

    /// Puts the rest of the text back, and moves the frames that stand in it.
    mutating func endInsertion(_ insertion: Insertion, _ mark: Mark) {
        while innermost > mark.frame { close() }
        let shift = out.count - insertion.offset
        for index in 0..<mark.frameCount where index != mark.frame {
            if frames[index].start >= insertion.offset { frames[index].start += shift }
            if !frames[index].isOpen, frames[index].end >= insertion.offset {
                frames[index].end += shift
            }
        }
        frames[mark.frame].end = out.count
        frames[mark.frame].isOpen = false
        innermost = insertion.innermost
        if frames[mark.frame].kind == .slot {
            // A value failed here and was rolled back: the slot is empty as before.
            out.append(contentsOf: "{}".utf8)
            frames[mark.frame].end = out.count - 1
        }
        out.append(contentsOf: insertion.tail)
    }
}
