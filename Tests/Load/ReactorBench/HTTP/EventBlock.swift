/// One block of a stream: the lines up to a blank one. Its ranges refer to the scanned bytes.
struct EventBlock {
    var event: Range<Int>?
    var id: Range<Int>?
    /// From the first data line's value to the end of the last one's.
    var data: Range<Int>?

    /// Whether an EventSource would dispatch the block: only a block with data is an event.
    var isEvent: Bool { data != nil }
    /// Whether the block consists of comments, `retry:` or unknown fields.
    var isSilent: Bool { data == nil && id == nil && event == nil }
}

/// Receives the blocks of a stream as they are found.
protocol EventSink {
    /// Accepts the block at `position` unparsed if its bytes are known; returns the block's end, or
    /// nil.
    mutating func recognise(_ bytes: Span<UInt8>, at position: Int) -> Int?

    /// Receives one block, which is `range` of `bytes`; all ranges are valid only during the call.
    mutating func receive(_ block: EventBlock, in bytes: Span<UInt8>, range: Range<Int>)
}
