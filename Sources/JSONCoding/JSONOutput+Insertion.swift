// Writes to a container that is already closed: rare, so it may copy the text after it.

extension JSONOutput {
    /// The text after the position of the insertion.
    struct Insertion {
        let offset: Int
        let tail: [UInt8]
        let innermost: Int
    }

    /// Cuts the text at `offset` in `frame`, which is reopened until `endInsertion`.
    mutating func beginInsertion(at offset: Int, reopening frame: Int) -> Insertion {
        let insertion = Insertion(offset: offset, tail: Array(out[offset...]), innermost: innermost)
        out.removeSubrange(offset...)
        frames[frame].isOpen = true
        innermost = frame
        return insertion
    }

    /// The same for a slot that was closed without a value: its placeholder is removed.
    mutating func beginInsertion(replacing slot: Int) -> Insertion {
        let insertion = beginInsertion(at: frames[slot].end + 1, reopening: slot)
        out.removeSubrange(frames[slot].start...)
        return insertion
    }

    /// Appends the rest of the text again, and moves the frames in it.
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
            // A value failed here and was rolled back: the slot becomes empty again.
            out.append(contentsOf: "{}".utf8)
            frames[mark.frame].end = out.count - 1
        }
        out.append(contentsOf: insertion.tail)
    }
}
