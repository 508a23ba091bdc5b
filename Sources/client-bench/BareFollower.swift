import CClientCurl

/// Bare libcurl that posts, and reads its own event on a stream: the work of a send, on one thread,
/// without a machine, an outbox or a prediction.
@safe
final class BareFollower {
    private let multi: UnsafeMutableRawPointer
    private let stream: UnsafeMutableRawPointer
    private let post: UnsafeMutableRawPointer
    private var fields: UnsafeMutablePointer<curl_slist>?
    /// The end of the stream that may have a part of the line that is sought.
    private var tail: [UInt8] = []
    private var sought: [UInt8] = []
    private var hasFound = false

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
        unsafe ccurl_set_transfer(post, CURLOPT_WRITEFUNCTION) { _, size, count, _ in
            size * count
        }
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

    /// Posts an action, and returns when its response and its event are there.
    func send(_ url: String, key: String, _ body: [UInt8]) throws(Failure) {
        unsafe curl_slist_free_all(fields)
        unsafe fields = curl_slist_append(nil, "Content-Type: application/json")
        unsafe fields = curl_slist_append(fields, "Idempotency-Key: \(key)")
        unsafe ccurl_set_text(post, CURLOPT_URL, url)
        unsafe ccurl_set_list(post, CURLOPT_HTTPHEADER, fields)
        unsafe ccurl_set_large(post, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
        unsafe body.withUnsafeBytes { bytes in
            _ = unsafe ccurl_set_pointer(
                post, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }
        sought = Array("cause: \(key)".utf8)
        (tail, hasFound) = ([], false)
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
        unsafe tail += bytes
        if !hasFound { hasFound = tail.firstRange(of: sought) != nil }
        tail.removeFirst(max(0, tail.count - sought.count))
    }
}
