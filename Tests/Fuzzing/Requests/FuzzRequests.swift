import FuzzSupport
import Wire
import WireFeeds

@main enum RequestsTarget: FuzzTarget {}

/// The HTTP reader: the requests, the refusal and where it comes do not depend on how the bytes are
/// split, nor on whether repeated heads are recognised.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRequests(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = unsafe FuzzInput(start, count)
    for limits in [RequestLimits(), .small] { checkSplits(of: &input, limits) }
    // A head is kept after it came twice.
    let bytes = input.bytes + input.bytes + input.bytes
    let plain = feed(bytes)
    for cuts in [[]] + input.cuts(of: bytes.count) {
        require(
            feed(bytes, cutAt: cuts, remembers: true) == plain,
            "a head that is repeated changes the result, cut at \(cuts)")
    }
    return 0
}

private func checkSplits(of input: inout FuzzInput, _ limits: RequestLimits) {
    let whole = feed(input.bytes, limits: limits)
    require(whole.offsetsWereSound, "an offset outside of the input")
    require(whole.refusal == nil || !whole.endsClean, "clean after a refusal")
    for request in whole.requests {
        require(
            request.bytes.count <= limits.headBytes + limits.bodyBytes
                && request.fields.count <= limits.fieldCount, "a request beyond the limits")
        require(request.path.hasPrefix("/") || request.path == "*", "the path \(request.path)")
    }
    for cuts in input.cuts() {
        let cut = feed(input.bytes, cutAt: cuts, limits: limits)
        require(cut == whole, "another result when it is cut at \(cuts): \(cut) and \(whole)")
    }
}

extension RequestLimits {
    /// So small that short inputs reach them.
    fileprivate static var small: RequestLimits {
        var limits = RequestLimits()
        limits.headBytes = 200
        limits.targetBytes = 40
        limits.fieldCount = 5
        limits.bodyBytes = 12
        limits.chunkExtensionBytes = 8
        limits.trailerBytes = 16
        return limits
    }
}
