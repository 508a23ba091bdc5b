#if os(Linux)
    internal import CClientCurl

    /// An easy handle of libcurl with its options, for one request after another of the same form.
    ///
    /// Why used again: making a handle and setting its options is much of a small request's work.
    @safe final class CurlEasy {
        /// The part of a request on which options depend that are set once.
        struct Form: Hashable {
            let method: String
            let hasBody: Bool
            let isRepeatable: Bool
            let isStream: Bool

            init(_ request: TransportRequest) {
                method = request.method
                hasBody = request.hasBody
                isRepeatable = request.isRepeatable
                isStream = request.isStream
            }
        }

        let pointer: UnsafeMutableRawPointer
        let form: Form
        /// Where libcurl writes a sentence about a failure.
        private let sentence: UnsafeMutablePointer<CChar>
        private var fieldList: UnsafeMutablePointer<curl_slist>?
        private var isUsed = false

        init(_ form: Form, _ settings: CurlSettings) throws(TransportFailure) {
            guard let easy = unsafe curl_easy_init() else {
                throw TransportFailure(.exhausted, "libcurl has no memory for a request")
            }
            unsafe pointer = unsafe easy
            self.form = form
            unsafe sentence = .allocate(capacity: Int(CURL_ERROR_SIZE))
            unsafe sentence.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
            setConnection(settings)
            setForm()
            setCallbacks()
        }

        deinit {
            unsafe curl_easy_cleanup(pointer)
            unsafe curl_slist_free_all(fieldList)
            unsafe sentence.deallocate()
        }

        /// Identifies the handle.
        var address: UInt { unsafe UInt(bitPattern: pointer) }

        func sentence(about result: CURLcode) -> String {
            let text = unsafe String(cString: sentence)
            return text.isEmpty ? unsafe String(cString: curl_easy_strerror(result)) : text
        }

        /// Whether it can be used again: libcurl counts how often a kept connection was found
        /// closed over all requests of a handle, and gives up at the sixth time.
        var isReusable: Bool {
            var connections = 0
            unsafe ccurl_get_long(pointer, CURLINFO_NUM_CONNECTS, &connections)
            defer { isUsed = true }
            return !form.isStream && (!isUsed || connections == 0)
        }

        /// Sets what is the request's own; that of the request before is forgotten.
        ///
        /// - Parameter context: what the callbacks get.
        func prepare(_ request: TransportRequest, _ context: UnsafeMutableRawPointer) {
            set(CURLOPT_URL, request.url)
            if form.hasBody {
                _ = unsafe ccurl_set_large(
                    pointer, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count))
                unsafe request.body.withUnsafeBytes { body in
                    // libcurl copies; without a pointer it would read a body from elsewhere.
                    let start = unsafe body.baseAddress ?? UnsafeRawPointer(pointer)
                    _ = unsafe ccurl_set_pointer(
                        pointer, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: start))
                }
            }
            setFields(request)
            _ = unsafe ccurl_set_pointer(pointer, CURLOPT_HEADERDATA, context)
            _ = unsafe ccurl_set_pointer(pointer, CURLOPT_WRITEDATA, context)
        }

        /// Forgets the request that has ended: its body may be large, and its fields
        /// have credentials.
        func forget() {
            if form.hasBody { _ = unsafe ccurl_set_pointer(pointer, CURLOPT_POSTFIELDS, nil) }
            _ = unsafe ccurl_set_list(pointer, CURLOPT_HTTPHEADER, nil)
            unsafe curl_slist_free_all(fieldList)
            unsafe fieldList = nil
        }

        // MARK: Options

        private func set(_ option: CURLoption, _ value: Int) {
            _ = unsafe ccurl_set_long(pointer, option, value)
        }

        private func set(_ option: CURLoption, _ text: String) {
            // Without the array that Swift makes of a text that is passed to C.
            _ = unsafe text.withCString { unsafe ccurl_set_text(pointer, option, $0) }
        }

        private func setConnection(_ settings: CurlSettings) {
            set(CURLOPT_NOSIGNAL, 1)
            set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            // Not CURLOPT_PIPEWAIT: with it libcurl 7.88.1 leaves requests to a server without
            // HTTP/2 waiting for the first one that it has begun, and a stream does not end. A
            // test sees it.
            set(CURLOPT_TCP_KEEPALIVE, 1)
            set(CURLOPT_TCP_KEEPIDLE, 30)
            set(CURLOPT_TCP_KEEPINTVL, 15)
            // libcurl allocates it anew for each request, and an answer is small: its
            // default for those.
            if form.isStream { set(CURLOPT_BUFFERSIZE, 65_536) }
            set(CURLOPT_SSL_VERIFYPEER, 1)
            set(CURLOPT_SSL_VERIFYHOST, 2)
            if let file = settings.trustedCertificates { set(CURLOPT_CAINFO, file) }
            if let proxy = settings.proxy { set(CURLOPT_PROXY, proxy) }
            set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
            unsafe ccurl_set_web_only(pointer)
            _ = unsafe ccurl_set_pointer(pointer, CURLOPT_ERRORBUFFER, sentence)
        }

        private func setForm() {
            // A path is sent as it is: the client has encoded it.
            set(CURLOPT_PATH_AS_IS, 1)
            set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
            set(CURLOPT_FOLLOWLOCATION, 0)
            if form.hasBody { set(CURLOPT_POST, 1) }
            if form.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
            // libcurl sends a request again when a connection that it had kept is closed before the
            // response begins: the server may have carried it out. Not on a new connection.
            if !form.isRepeatable { set(CURLOPT_FRESH_CONNECT, 1) }
            set(CURLOPT_CUSTOMREQUEST, form.method)
        }

        private func setFields(_ request: TransportRequest) {
            // A field without a value removes the one that libcurl would add. It looks through
            // the list a dozen times, so what it would not add is not there: it has no
            // `User-Agent` of its own, and expects 100 (Continue) for large bodies only, some
            // versions from 1 KiB on.
            remove("Accept", from: request)
            if form.hasBody { remove("Content-Type", from: request) }
            if request.body.count >= 1_024 { remove("Expect", from: request) }
            for field in request.fields {
                var line = ""
                line.reserveCapacity(field.name.utf8.count + field.value.utf8.count + 2)
                line += field.name
                line += field.value.isEmpty ? ";" : ": "
                line += field.value
                append(line)
            }
            _ = unsafe ccurl_set_list(pointer, CURLOPT_HTTPHEADER, fieldList)
        }

        private func remove(_ name: String, from request: TransportRequest) {
            if !request.fields.contains(where: { $0.isNamed(name) }) { append("\(name):") }
        }

        private func append(_ line: String) {
            unsafe fieldList = unsafe line.withCString { line in
                unsafe curl_slist_append(fieldList, line) ?? fieldList
            }
        }

        private func setCallbacks() {
            _ = unsafe ccurl_set_transfer(pointer, CURLOPT_HEADERFUNCTION) {
                bytes, size, count, context in
                guard let transfer = unsafe CurlTransfer.from(context) else { return 0 }
                let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
                return unsafe transfer.receiveHead(line) ? line.count : 0
            }
            _ = unsafe ccurl_set_transfer(pointer, CURLOPT_WRITEFUNCTION) {
                bytes, size, count, context in
                guard let transfer = unsafe CurlTransfer.from(context) else { return 0 }
                return unsafe transfer.receive(
                    UnsafeRawBufferPointer(start: bytes, count: size * count))
            }
        }
    }

    /// Easy handles that wait for a request of their form.
    struct CurlEasyPool {
        /// Each has some 25 KB.
        private static let limit = 16
        private var handles: [CurlEasy] = []

        mutating func dequeue(for request: TransportRequest) -> CurlEasy? {
            guard !request.isStream, !handles.isEmpty else { return nil }
            let form = CurlEasy.Form(request)
            guard let index = handles.lastIndex(where: { $0.form == form }) else { return nil }
            return handles.remove(at: index)
        }

        /// Keeps a handle whose request has ended well; one that was added long ago gives way.
        mutating func add(_ easy: CurlEasy) {
            guard easy.isReusable else { return }
            easy.forget()
            if handles.count == Self.limit { handles.removeFirst() }
            handles.append(easy)
        }
    }
#endif
