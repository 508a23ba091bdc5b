internal import CClientCurl

/// A transfer to be made, and its callbacks, which are called on the loop's thread.
struct TransferPlan: Sendable {
    var url: String
    var unixPath: String?
    var request: Request
    /// A limit for the whole transfer, so that a test that waits for a response ends; 0 for none.
    var limitSeconds = 60
    var head: @Sendable (ResponseHead) -> Void = { _ in }
    var bytes: @Sendable ([UInt8]) -> Void = { _ in }
    var ended: @Sendable (_ failure: CurlFailure?, _ newConnections: Int) -> Void
}

/// An active easy handle.
///
/// libcurl keeps a pointer to this object while the handle exists; the handle ends with it.
@safe final class Transfer {
    let easy: UnsafeMutableRawPointer
    private let plan: TransferPlan
    private var fieldList: UnsafeMutablePointer<curl_slist>?
    private var head = ResponseHead()
    private var unsent: ArraySlice<UInt8> = []
    private var hasEnded = false

    init(_ number: UInt64, _ plan: TransferPlan) {
        guard let easy = unsafe curl_easy_init() else { preconditionFailure("curl_easy_init") }
        unsafe self.easy = unsafe easy
        self.plan = plan
        setTarget()
        setFields()
        setBody()
        setCallbacks()
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe curl_slist_free_all(fieldList)
    }

    func end(_ result: CURLcode) {
        guard !hasEnded else { return }
        hasEnded = true
        var connections = 0
        _ = unsafe ccurl_get_long(easy, CURLINFO_NUM_CONNECTS, &connections)
        let failure =
            result == CURLE_OK ? nil : CurlFailure(code: result.rawValue, url: plan.url)
        plan.ended(failure, connections)
    }

    private func set(_ option: CURLoption, _ value: Int) {
        _ = unsafe ccurl_set_long(easy, option, value)
    }

    private func set(_ option: CURLoption, _ text: String) {
        _ = unsafe ccurl_set_text(easy, option, text)
    }

    private func setTarget() {
        let request = plan.request
        set(CURLOPT_URL, plan.url)
        if let path = plan.unixPath { set(CURLOPT_UNIX_SOCKET_PATH, path) }
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROXY, "")
        set(CURLOPT_TIMEOUT, plan.limitSeconds)
        set(CURLOPT_PATH_AS_IS, 1)
        set(
            CURLOPT_HTTP_VERSION,
            request.version == .http10 ? Int(CURL_HTTP_VERSION_1_0) : Int(CURL_HTTP_VERSION_1_1))
        if request.isAlone {
            set(CURLOPT_FRESH_CONNECT, 1)
            set(CURLOPT_FORBID_REUSE, 1)
        }
        set(CURLOPT_CUSTOMREQUEST, request.method)
        if request.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
    }

    private func setFields() {
        var lines = plan.request.fields.map { "\($0.name): \($0.value)" }
        // libcurl would add these by default.
        if !plan.request.fields.contains(where: { $0.name == "Expect" }) { lines.append("Expect:") }
        if !plan.request.fields.contains(where: { $0.name == "Content-Type" }) {
            lines.append("Content-Type:")
        }
        if case .chunked = plan.request.body { lines.append("Transfer-Encoding: chunked") }
        for line in lines {
            unsafe fieldList = unsafe curl_slist_append(fieldList, line)
        }
        _ = unsafe ccurl_set_list(easy, CURLOPT_HTTPHEADER, fieldList)
    }

    private func setBody() {
        switch plan.request.body {
        case .none: break
        case .bytes(let bytes):
            _ = unsafe ccurl_set_large(easy, CURLOPT_POSTFIELDSIZE_LARGE, bytes.count)
            _ = unsafe bytes.withUnsafeBytes {
                unsafe ccurl_set_pointer(
                    easy, CURLOPT_COPYPOSTFIELDS,
                    UnsafeMutableRawPointer(mutating: $0.baseAddress ?? UnsafeRawPointer(easy)))
            }
        case .chunked(let bytes):
            unsent = bytes[...]
            set(CURLOPT_POST, 1)
            _ = unsafe ccurl_set_transfer(easy, CURLOPT_READFUNCTION) {
                bytes, size, count, context in
                guard let transfer = unsafe Transfer.from(context), let bytes = unsafe bytes
                else { return 0 }
                return unsafe transfer.give(bytes, size * count)
            }
            _ = unsafe ccurl_set_pointer(easy, CURLOPT_READDATA, context)
        }
    }

    private func setCallbacks() {
        _ = unsafe ccurl_set_transfer(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            guard let transfer = unsafe Transfer.from(context), let bytes = unsafe bytes
            else { return 0 }
            unsafe transfer.takeHeadLine(
                UnsafeRawBufferPointer(start: bytes, count: size * count))
            return size * count
        }
        _ = unsafe ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context)
        _ = unsafe ccurl_set_transfer(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let transfer = unsafe Transfer.from(context), let bytes = unsafe bytes
            else { return 0 }
            unsafe transfer.plan.bytes(
                Array(UnsafeRawBufferPointer(start: bytes, count: size * count)))
            return size * count
        }
        _ = unsafe ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context)
    }

    private var context: UnsafeMutableRawPointer {
        unsafe Unmanaged.passUnretained(self).toOpaque()
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> Transfer? {
        unsafe context.map { unsafe Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private func takeHeadLine(_ bytes: UnsafeRawBufferPointer) {
        let text = unsafe String(decoding: bytes, as: UTF8.self)
        let line = text.prefix { $0 != "\r\n" && $0 != "\n" }
        guard line.isEmpty else { return head.parse(line) }
        if head.status >= 200 { plan.head(head) }
    }

    private func give(_ room: UnsafeMutablePointer<CChar>, _ capacity: Int) -> Int {
        let part = unsent.prefix(capacity)
        unsafe UnsafeMutableRawBufferPointer(start: room, count: part.count).copyBytes(from: part)
        unsent = unsent.dropFirst(part.count)
        return part.count
    }
}
