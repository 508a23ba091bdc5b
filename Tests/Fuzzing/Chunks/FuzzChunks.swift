import FuzzSupport
import Wire
import WireFeeds

@main enum ChunksTarget: FuzzTarget {}

private let head = Array("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)

/// The chunk reader, after the head of a request: no split changes the result; a body that is read
/// is the one that a plain reading of RFC 9112 §7.1 finds; any content, as chunks of any sizes, is
/// read unchanged.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzChunks(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = unsafe FuzzInput(start, count)
    let bytes = head + input.bytes
    let whole = feed(bytes)
    for cuts in input.cuts() {
        require(
            feed(bytes, cutAt: cuts.map { head.count + $0 }) == whole,
            "another result when it is cut at \(cuts)")
    }
    if let request = whole.requests.first {
        let body = Array(request.bytes.dropFirst(head.count))
        require(plainBody(input.bytes) == body, "another body than the plain reading finds")
    }
    checkRoundTrip(&input)
    return 0
}

/// The body of chunks that are well formed; nil if they do not end.
private func plainBody(_ bytes: [UInt8]) -> [UInt8]? {
    var rest = bytes[...]
    var body: [UInt8] = []
    while let end = rest.firstIndex(of: 0x0a) {
        let digits = rest[..<end].prefix { $0 != 0x3b && $0 != 0x20 && $0 != 0x09 && $0 != 0x0d }
        guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else { return nil }
        rest = rest[(end + 1)...]
        if size == 0 { return body }
        guard rest.count >= size + 2 else { return nil }
        body += rest.prefix(size)
        rest = rest.dropFirst(size + 2)
    }
    return nil
}

private func checkRoundTrip(_ input: inout FuzzInput) {
    var bytes = head
    var rest = input.bytes[...]
    while !rest.isEmpty {
        let count = Int.random(in: 1...rest.count, using: &input.generator)
        if Bool.random(using: &input.generator) {
            ChunkEncoder.appendSize(count, to: &bytes)
            bytes += rest.prefix(count)
            ChunkEncoder.appendEnd(to: &bytes)
        } else {
            let start = bytes.count
            bytes += rest.prefix(count)
            ChunkEncoder.wrap(from: start, in: &bytes)
        }
        rest = rest.dropFirst(count)
    }
    let reading = feed(bytes + ChunkEncoder.last)
    require(reading.requests.map(\.bytes) == [head + input.bytes], "the content has changed")
}
