import CClientCurl
import JSONCoding

/// Bare libcurl that posts, reads the receipt, and reads its own event on a stream: what a send
/// knows when it returns, on one thread, without a machine, an outbox or a prediction.
@safe
final class BareFollower {
    private let multi: UnsafeMutableRawPointer
    private let stream: UnsafeMutableRawPointer
    private let post: UnsafeMutableRawPointer
    private var fields: UnsafeMutablePointer<curl_slist>?
    /// The line that has begun, and whether the block has the line that is sought.
    private var line: [UInt8] = []
    private var isSoughtBlock = false
    private var sought: [UInt8] = []
    /// A block with the line that is sought has ended.
    private var hasFound = false
    private var body: [UInt8] = []

    typealias Failure = BareConnection.Failure

    /// - Parameter events: the address of a stream.
    init(_ events: String) throws(Failure) {
        guard let multi = unsafe curl_multi_init(), let stream = unsafe curl_easy_init(),
            let post = unsafe curl_easy_init()
        else { throw Failure(description: "libcurl has no handle") }
        unsafe self.multi = multi
        unsafe self.stream = stream
        unsafe self.post = post
        unsafe ccurl_set_long(stream, CURLOPT_NOSIGNAL, 1)
        unsafe ccurl_set_long(post, CURLOPT_NOSIGNAL, 1)
        unsafe ccurl_set_text(stream, CURLOPT_URL, events)
        unsafe ccurl_set_transfer(stream, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let context = unsafe context else { return 0 }
            let follower = unsafe Unmanaged<BareFollower>.fromOpaque(context).takeUnretainedValue()
            unsafe follower.receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
            return size * count
        }
        unsafe ccurl_set_pointer(
            stream, CURLOPT_WRITEDATA, Unmanaged.passUnretained(self).toOpaque())
        unsafe ccurl_set_transfer(post, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let context = unsafe context else { return 0 }
            let follower = unsafe Unmanaged<BareFollower>.fromOpaque(context).takeUnretainedValue()
            unsafe follower.body += UnsafeRawBufferPointer(start: bytes, count: size * count)
            return size * count
        }
        unsafe ccurl_set_pointer(post, CURLOPT_WRITEDATA, Unmanaged.passUnretained(self).toOpaque())
        unsafe ccurl_set_text(post, CURLOPT_CUSTOMREQUEST, "POST")
        unsafe curl_multi_add_handle(multi, stream)
        // The first block has the snapshot.
        sought = Array("event: snapshot".utf8)
        try wait { self.hasFound }
    }

    deinit {
        unsafe curl_multi_remove_handle(multi, stream)
        unsafe curl_easy_cleanup(stream)
        unsafe curl_easy_cleanup(post)
        unsafe curl_multi_cleanup(multi)
        unsafe curl_slist_free_all(fields)
    }

    private struct Receipt: Decodable {
        let version: UInt64
        let position: String
    }

    /// Posts an action, and returns the session's version when the response and the
    /// event are there.
    @discardableResult
    func send(_ url: String, key: String, _ action: [UInt8]) throws(Failure) -> UInt64 {
        unsafe curl_slist_free_all(fields)
        unsafe fields = curl_slist_append(nil, "Content-Type: application/json")
        unsafe fields = curl_slist_append(fields, "Idempotency-Key: \(key)")
        unsafe ccurl_set_text(post, CURLOPT_URL, url)
        unsafe ccurl_set_list(post, CURLOPT_HTTPHEADER, fields)
        unsafe ccurl_set_large(post, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(action.count))
        unsafe action.withUnsafeBytes { bytes in
            _ = unsafe ccurl_set_pointer(
                post, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }
        sought = Array("cause: \(key)".utf8)
        (isSoughtBlock, hasFound) = (false, false)
        body.removeAll(keepingCapacity: true)
        unsafe curl_multi_add_handle(multi, post)
        defer { unsafe curl_multi_remove_handle(multi, post) }
        var isAnswered = false
        try wait {
            var left: Int32 = 0
            while let message = unsafe curl_multi_info_read(self.multi, &left) {
                if unsafe message.pointee.easy_handle == self.post { isAnswered = true }
            }
            return isAnswered && self.hasFound
        }
        var status = 0
        unsafe ccurl_get_long(post, CURLINFO_RESPONSE_CODE, &status)
        guard (200..<300).contains(status) else {
            throw Failure(description: "POST \(url): status \(status)")
        }
        do {
            return try JSON.decode(Receipt.self, from: body).version
        } catch {
            throw Failure(description: "POST \(url): \(error)")
        }
    }

    private func wait(_ isDone: () -> Bool) throws(Failure) {
        let deadline = ContinuousClock.now + .seconds(10)
        while true {
            var running: Int32 = 0
            guard unsafe curl_multi_perform(multi, &running) == CURLM_OK, running > 0 else {
                throw Failure(description: "the stream has ended")
            }
            if isDone() { return }
            // It may end before the time without anything to read: libcurl has timers of its own.
            _ = unsafe curl_multi_poll(multi, nil, 0, 10_000, nil)
            guard ContinuousClock.now < deadline else {
                throw Failure(description: "nothing has come for 10 s")
            }
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        // Not in place: each access to a property of an object is checked.
        var line = self.line
        self.line = []
        for byte in unsafe Array(bytes) {
            guard byte == UInt8(ascii: "\n") else { line.append(byte); continue }
            if line.isEmpty {
                if isSoughtBlock { hasFound = true }
                isSoughtBlock = false
            } else if line == sought {
                isSoughtBlock = true
            }
            line.removeAll(keepingCapacity: true)
        }
        self.line = line
    }
}
