import CClientCurl

/// One kept connection of bare libcurl, as a program without this client would write it.
@safe
struct BareConnection: ~Copyable {
    private let easy: UnsafeMutableRawPointer
    private var fields: UnsafeMutablePointer<curl_slist>?

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    init() throws(Failure) {
        guard let easy = unsafe curl_easy_init() else {
            throw Failure(description: "libcurl has no handle")
        }
        unsafe self.easy = easy
        unsafe fields = nil
        discardBody()
    }

    deinit {
        unsafe curl_slist_free_all(fields)
        unsafe curl_easy_cleanup(easy)
    }

    private func discardBody() {
        unsafe ccurl_set_transfer(easy, CURLOPT_WRITEFUNCTION) { _, size, count, _ in
            size * count
        }
    }

    /// Sends a request and waits for its response.
    mutating func request(
        _ method: String, _ url: String, key: String?, _ body: [UInt8]
    ) throws(Failure) {
        unsafe curl_slist_free_all(fields)
        unsafe fields = curl_slist_append(nil, "Content-Type: application/json")
        if let key { unsafe fields = curl_slist_append(fields, "Idempotency-Key: \(key)") }
        unsafe ccurl_set_text(easy, CURLOPT_URL, url)
        unsafe ccurl_set_text(easy, CURLOPT_CUSTOMREQUEST, method)
        unsafe ccurl_set_list(easy, CURLOPT_HTTPHEADER, fields)
        unsafe ccurl_set_large(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
        let result = unsafe body.withUnsafeBytes { bytes in
            unsafe ccurl_set_pointer(
                easy, CURLOPT_POSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return unsafe curl_easy_perform(easy)
        }
        var status = 0
        unsafe ccurl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
        guard result == CURLE_OK, (200..<300).contains(status) else {
            throw Failure(
                description: "\(method) \(url): libcurl's code \(result.rawValue), status \(status)"
            )
        }
    }
}
