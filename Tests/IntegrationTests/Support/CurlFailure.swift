internal import CClientCurl

/// The reason for which a transfer did not complete.
struct CurlFailure: Error, CustomStringConvertible, Equatable {
    /// `CURLcode`; see libcurl-errors(3).
    var code: UInt32
    var url: String

    var description: String {
        "\(url): \(unsafe String(cString: curl_easy_strerror(CURLcode(code)))) (\(code))"
    }

    static func == (one: CurlFailure, other: CurlFailure) -> Bool { one.code == other.code }

    /// No process listens, or the listener refused.
    var isRefusal: Bool {
        [CURLE_COULDNT_CONNECT, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING]
            .contains(CURLcode(code))
    }
}
