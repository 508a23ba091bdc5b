/// The next part of a response.
enum ResponseStep: Equatable {
    /// All bytes are used; the reader needs more.
    case needMore
    /// A final head (1xx are skipped) with this status.
    case head(Int)
    /// A piece of the body: a range of the given bytes.
    case body(Range<Int>)
    /// The response is complete.
    case end
}

/// The peer's fault: the bytes are not a valid HTTP/1.1 response.
enum ResponseFault: Error, Equatable {
    case noStatusLine
    case badContentLength
    case badChunkSize
    case headTooLong
    /// Bytes between a chunk's data and its line end.
    case badChunkEnd
    /// A line of the head that is not a field, or fields that contradict each other.
    case badHead(String)
}
