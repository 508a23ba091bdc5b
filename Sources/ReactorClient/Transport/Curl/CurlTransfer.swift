#if os(Linux)
    internal import CClientCurl

    /// One request of libcurl: an easy handle, and what it calls.
    ///
    /// libcurl keeps a pointer to this object while the request is under way; this object
    /// keeps the handle.
    @safe final class CurlTransfer {
        let easy: CurlEasy
        let isStream: Bool
        private let handle: CurlHandle
        private let receiver: any TransportReceiver
        /// ``receiver``, if it asks for the ends of rounds. Stored, because this cast takes as long
        /// as a small event.
        private let roundReceiver: (any RoundReceiver)?
        private let round: CurlRound
        private var head: ResponseHeadReader
        private var hasHead = false
        private var isPausing = false
        /// Why this object has made libcurl give up.
        private var ownFailure: TransportFailure?

        static let cancelled = TransportFailure(.cancelled, "the request was cancelled")

        /// - Parameter easy: of the request's form; nil: a new one.
        init(
            _ handle: CurlHandle, _ request: TransportRequest, _ receiver: any TransportReceiver,
            _ round: CurlRound, _ settings: CurlSettings, easy: CurlEasy?
        ) throws(TransportFailure) {
            try request.validate()
            if let easy {
                self.easy = easy
            } else {
                self.easy = try CurlEasy(CurlEasy.Form(request), settings)
            }
            isStream = request.isStream
            self.handle = handle
            self.receiver = receiver
            roundReceiver = receiver as? any RoundReceiver
            self.round = round
            head = ResponseHeadReader(limitBytes: settings.headLimitBytes)
            unsafe self.easy.prepare(request, Unmanaged.passUnretained(self).toOpaque())
        }

        /// Lets bytes come again.
        ///
        /// - Returns: a failure: libcurl delivers what it holds within the call.
        func resume() -> CURLcode {
            guard isPausing else { return CURLE_OK }
            isPausing = false
            return unsafe curl_easy_pause(easy.pointer, CURLPAUSE_CONT)
        }

        /// Reports the end. The handle is not in use any more.
        func end(_ result: CURLcode, because reason: TransportFailure? = nil) {
            round.add(roundReceiver)
            receiver.ended(reason ?? failure(result))
        }

        private func failure(_ result: CURLcode) -> TransportFailure? {
            if handle.isCancelled { return Self.cancelled }
            if let ownFailure { return ownFailure }
            if result == CURLE_OK {
                return hasHead ? nil : TransportFailure(.badResponse, "there was no response")
            }
            return TransportFailure(TransportFailure.Kind(result), easy.sentence(about: result))
        }

        // MARK: What libcurl calls

        static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
            unsafe context.map {
                unsafe Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue()
            }
        }

        func receiveHead(_ line: UnsafeRawBufferPointer) -> Bool {
            guard !handle.isCancelled else { return false }
            do {
                let bytes = unsafe Span<UInt8>(_unsafeBytes: line)
                guard let (status, fields) = try head.receive(bytes) else { return true }
                hasHead = true
                round.add(roundReceiver)
                receiver.head(status, fields)
                return true
            } catch {
                ownFailure = error
                return false
            }
        }

        /// - Returns: the number of bytes received; libcurl keeps the others, or gives up.
        func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
            if handle.isCancelled { return 0 }
            if isPausing { return Int(CURL_WRITEFUNC_PAUSE) }
            round.add(roundReceiver)
            let demand = unsafe receiver.bytes(Array(bytes))
            isPausing = demand == .pause
            return bytes.count
        }
    }
#endif
