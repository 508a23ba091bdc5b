#if os(Linux)
    internal import CClientCurl

    /// One request of libcurl: an easy handle, and what it calls.
    ///
    /// libcurl keeps a pointer to this object while the handle exists; the handle ends with it.
    @safe final class CurlTransfer {
        let easy: UnsafeMutableRawPointer
        let isStream: Bool
        private let handle: CurlHandle
        private let receiver: any TransportReceiver
        private let round: CurlRound
        private var fieldList: UnsafeMutablePointer<curl_slist>?
        /// Where libcurl writes a sentence about a failure.
        private let sentence: UnsafeMutablePointer<CChar>
        private var head: ResponseHeadReader
        private var hasHead = false
        private var isPausing = false
        /// Why this object has made libcurl give up.
        private var ownFailure: TransportFailure?

        static let cancelled = TransportFailure(.cancelled, "the request was cancelled")

        /// - Throws: if the request cannot be sent.
        init(
            _ handle: CurlHandle, _ request: TransportRequest, _ receiver: any TransportReceiver,
            _ round: CurlRound, _ settings: CurlSettings
        ) throws(TransportFailure) {
            try request.validate()
            guard let easy = unsafe curl_easy_init() else {
                throw TransportFailure(.exhausted, "libcurl has no memory for a request")
            }
            unsafe self.easy = unsafe easy
            unsafe sentence = .allocate(capacity: Int(CURL_ERROR_SIZE))
            unsafe sentence.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
            isStream = request.isStream
            self.handle = handle
            self.receiver = receiver
            self.round = round
            head = ResponseHeadReader(limitBytes: settings.headLimitBytes)
            setConnection(settings, isStream: request.isStream)
            setRequest(request)
            setFields(request)
            setCallbacks()
        }

        deinit {
            unsafe curl_easy_cleanup(easy)
            unsafe curl_slist_free_all(fieldList)
            unsafe sentence.deallocate()
        }

        /// Identifies the easy handle.
        var address: UInt { unsafe UInt(bitPattern: easy) }

        /// Lets bytes come again.
        ///
        /// - Returns: a failure: libcurl delivers what it holds within the call.
        func resume() -> CURLcode {
            guard isPausing else { return CURLE_OK }
            isPausing = false
            return unsafe curl_easy_pause(easy, CURLPAUSE_CONT)
        }

        /// Reports the end. The handle is not in use any more.
        func end(_ result: CURLcode, because reason: TransportFailure? = nil) {
            round.end(receiver, reason ?? failure(result))
        }

        private func failure(_ result: CURLcode) -> TransportFailure? {
            if handle.isCancelled { return Self.cancelled }
            if let ownFailure { return ownFailure }
            if result == CURLE_OK {
                return hasHead ? nil : TransportFailure(.badResponse, "there was no response")
            }
            var text = unsafe String(cString: sentence)
            if text.isEmpty { text = unsafe String(cString: curl_easy_strerror(result)) }
            return TransportFailure(TransportFailure.Kind(result), text)
        }

        // MARK: What libcurl calls

        private func receiveHead(_ line: UnsafeRawBufferPointer) -> Bool {
            guard !handle.isCancelled else { return false }
            do {
                let text = unsafe String(decoding: line, as: UTF8.self)
                guard let (status, fields) = try head.receive(text, byteCount: line.count) else {
                    return true
                }
                hasHead = true
                round.add(receiver)
                receiver.head(status, fields)
                return true
            } catch {
                ownFailure = error
                return false
            }
        }

        /// - Returns: the number of bytes received; libcurl keeps the others, or gives up.
        private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
            if handle.isCancelled { return 0 }
            if isPausing { return Int(CURL_WRITEFUNC_PAUSE) }
            round.add(receiver)
            let demand = unsafe receiver.bytes(Array(bytes))
            isPausing = demand == .pause
            return bytes.count
        }

        private var context: UnsafeMutableRawPointer {
            unsafe Unmanaged.passUnretained(self).toOpaque()
        }

        private static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
            unsafe context.map {
                unsafe Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue()
            }
        }

        // MARK: Options

        private func set(_ option: CURLoption, _ value: Int) {
            _ = unsafe ccurl_set_long(easy, option, value)
        }

        private func set(_ option: CURLoption, _ text: String) {
            _ = unsafe ccurl_set_text(easy, option, text)
        }

        private func setConnection(_ settings: CurlSettings, isStream: Bool) {
            set(CURLOPT_NOSIGNAL, 1)
            set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            // Not CURLOPT_PIPEWAIT: with it libcurl 7.88.1 leaves requests to a server without HTTP/2
            // waiting for the first one that it has begun, and a stream does not end. A test sees it.
            set(CURLOPT_TCP_KEEPALIVE, 1)
            set(CURLOPT_TCP_KEEPIDLE, 30)
            set(CURLOPT_TCP_KEEPINTVL, 15)
            // libcurl allocates it anew for each handle, and an answer is small: its default for those.
            if isStream { set(CURLOPT_BUFFERSIZE, 65_536) }
            set(CURLOPT_SSL_VERIFYPEER, 1)
            set(CURLOPT_SSL_VERIFYHOST, 2)
            if let file = settings.trustedCertificates { set(CURLOPT_CAINFO, file) }
            if let proxy = settings.proxy { set(CURLOPT_PROXY, proxy) }
            set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
            unsafe ccurl_set_web_only(easy)
            _ = unsafe ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, sentence)
        }

        private func setRequest(_ request: TransportRequest) {
            set(CURLOPT_URL, request.url)
            // A path is sent as it is: the client has encoded it.
            set(CURLOPT_PATH_AS_IS, 1)
            set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
            set(CURLOPT_FOLLOWLOCATION, 0)
            if request.hasBody {
                set(CURLOPT_POST, 1)
                _ = unsafe ccurl_set_large(
                    easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count))
                unsafe request.body.withUnsafeBytes { body in
                    // libcurl copies; without a pointer it would read a body from elsewhere.
                    let start = unsafe body.baseAddress ?? UnsafeRawPointer(easy)
                    _ = unsafe ccurl_set_pointer(
                        easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: start))
                }
            }
            if request.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
            // libcurl sends a request again when a connection that it had kept is closed before the
            // response begins: the server may have carried it out. Not on a new connection.
            if !request.isRepeatable { set(CURLOPT_FRESH_CONNECT, 1) }
            set(CURLOPT_CUSTOMREQUEST, request.method)
        }

        private func setFields(_ request: TransportRequest) {
            // A field without a value removes the one that libcurl would add.
            let named = Set(request.fields.map { $0.name.lowercased() })
            var lines = ["Accept", "Content-Type", "Expect", "User-Agent"]
                .filter { !named.contains($0.lowercased()) }.map { "\($0):" }
            lines += request.fields.map {
                $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)"
            }
            for line in lines {
                unsafe fieldList = unsafe curl_slist_append(fieldList, line) ?? fieldList
            }
            _ = unsafe ccurl_set_list(easy, CURLOPT_HTTPHEADER, fieldList)
        }

        private func setCallbacks() {
            _ = unsafe ccurl_set_transfer(easy, CURLOPT_HEADERFUNCTION) {
                bytes, size, count, context in
                guard let transfer = unsafe CurlTransfer.from(context) else { return 0 }
                let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
                return unsafe transfer.receiveHead(line) ? line.count : 0
            }
            _ = unsafe ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context)
            _ = unsafe ccurl_set_transfer(easy, CURLOPT_WRITEFUNCTION) {
                bytes, size, count, context in
                guard let transfer = unsafe CurlTransfer.from(context) else { return 0 }
                return unsafe transfer.receive(
                    UnsafeRawBufferPointer(start: bytes, count: size * count))
            }
            _ = unsafe ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context)
        }
    }
#endif
