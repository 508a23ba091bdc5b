/// One block of a stream: the lines up to a blank one. The ranges are into the bytes it came with.
struct EventBlock {
    var event: Range<Int>?
    var id: Range<Int>?
    /// From the first data line's value to the end of the last one's.
    var data: Range<Int>?

    /// Whether an EventSource would dispatch it: only a block with data is an event.
    var isEvent: Bool { data != nil }
    /// Whether it consists of comments, `retry:` or unknown fields.
    var isSilent: Bool { data == nil && id == nil && event == nil }
}

/// Takes the blocks of a stream as they are found.
protocol EventSink {
    /// Takes the block that begins at `position` without having it parsed, if it knows those
    /// bytes; returns where the block ends, or nil.
    mutating func recognise(_ bytes: Span<UInt8>, at position: Int) -> Int?

    /// Takes one block, which is `range` of `bytes`; all ranges are valid only during the call.
    mutating func receive(_ block: EventBlock, in bytes: Span<UInt8>, range: Range<Int>)
}
