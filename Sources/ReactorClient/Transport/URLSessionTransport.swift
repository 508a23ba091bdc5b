#if canImport(Darwin)
    internal import Foundation
    internal import Synchronization

    /// The transport on Apple platforms: `URLSession`, with the system's TLS, proxies and HTTP/2.
    ///
    /// It keeps no cookie, no cache and no credential. `URLSession` adds `Accept-Language` and
    /// `User-Agent` to a request that does not name them.
    ///
    /// Requests that are under way when the last reference to the transport goes end with
    /// ``TransportFailure/Kind/cancelled``.
    public final class URLSessionTransport: ClientTransport {
        private let session: URLSession
        private let responses: SessionResponses

        /// A session of its own.
        public init() {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            configuration.urlCredentialStorage = nil
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.httpCookieAcceptPolicy = .never
            configuration.waitsForConnectivity = true
            // The client has its own: it ends what is silent for too long.
            configuration.timeoutIntervalForRequest = 3_600
            // Over HTTP/1.1 each stream has a connection; with six, they would hold up requests.
            configuration.httpMaximumConnectionsPerHost = 64
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            responses = SessionResponses(queue)
            session = URLSession(
                configuration: configuration, delegate: responses, delegateQueue: queue)
        }

        deinit { session.invalidateAndCancel() }

        /// Starts a request.
        public func start(
            _ request: TransportRequest, _ receiver: any TransportReceiver
        ) -> any TransportHandle {
            do throws(TransportFailure) {
                let task = session.dataTask(with: try request.urlRequest())
                responses.add(task, receiver)
                task.resume()
                return SessionHandle(task, responses)
            } catch {
                receiver.ended(error)
                return SessionHandle(nil, responses)
            }
        }
    }

    extension TransportRequest {
        fileprivate func urlRequest() throws(TransportFailure) -> URLRequest {
            try validate()
            guard let url = URL(string: url), let host = url.host(), !host.isEmpty,
                url.user() == nil
            else { throw TransportFailure(.badRequest, "the address has no host, or a user in it") }
            var request = URLRequest(url: url)
            request.httpMethod = method
            if hasBody { request.httpBody = Data(body) }
            for field in fields {
                request.addValue(field.value, forHTTPHeaderField: field.name)
            }
            // Else `URLSession` asks for compressed bodies, and holds events back to
            // decompress them.
            if !fields.contains(where: { $0.name.lowercased() == "accept-encoding" }) {
                request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
            }
            return request
        }
    }

    /// One request, for those that have started it.
    private struct SessionHandle: TransportHandle {
        private let task: URLSessionDataTask?
        private let responses: SessionResponses

        init(_ task: URLSessionDataTask?, _ responses: SessionResponses) {
            self.task = task
            self.responses = responses
        }

        func resume() {
            if let task { responses.resume(task) }
        }

        func cancel() {
            guard let task else { return }
            responses.cancel(task)
            task.cancel()
        }
    }

    /// The receivers of the tasks of a session, which calls its delegate on one queue.
    ///
    /// Without its lock a receiver could be added while the delegate looks for another.
    private final class SessionResponses: NSObject, URLSessionDataDelegate {
        private struct Response {
            let receiver: any TransportReceiver
            var isPausing = false
            var isCancelled = false
            /// Bytes that came in a pause: `URLSession` delivers a little after a task
            /// is suspended.
            var held: [[UInt8]] = []
            /// Nil until the task has ended; then the failure, if there is one.
            var end: TransportFailure??
        }

        private let queue: OperationQueue
        private let table = Mutex<[Int: Response]>([:])

        init(_ queue: OperationQueue) { self.queue = queue }

        func add(_ task: URLSessionTask, _ receiver: any TransportReceiver) {
            table.withLock { $0[task.taskIdentifier] = Response(receiver: receiver) }
        }

        func cancel(_ task: URLSessionTask) {
            table.withLock { $0[task.taskIdentifier]?.isCancelled = true }
            // A held end comes now.
            queue.addOperation { self.deliver(task) }
        }

        /// On the queue, as all calls of the receiver: after the pause of which it is the end.
        func resume(_ task: URLSessionTask) {
            queue.addOperation {
                let wasPausing = self.table.withLock { table in
                    defer { table[task.taskIdentifier]?.isPausing = false }
                    return table[task.taskIdentifier]?.isPausing == true
                }
                guard wasPausing else { return }
                task.resume()
                self.deliver(task)
            }
        }

        // MARK: What the session calls

        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
            completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            if let response = response as? HTTPURLResponse, let open = open(dataTask) {
                let fields = response.allHeaderFields.compactMap { name, value in
                    (name as? String).map { TransportField($0, "\(value)") }
                }
                open.head(response.statusCode, fields)
            }
            completionHandler(.allow)
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data
        ) {
            guard !data.isEmpty else { return }
            table.withLock { $0[dataTask.taskIdentifier]?.held.append(Array(data)) }
            deliver(dataTask)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
        ) {
            let failure = error.map { TransportFailure($0) }
            table.withLock { $0[task.taskIdentifier]?.end = .some(failure) }
            deliver(task)
        }

        // MARK: Deliveries

        private func open(_ task: URLSessionTask) -> (any TransportReceiver)? {
            table.withLock { table in
                let response = table[task.taskIdentifier]
                return response?.isCancelled == true ? nil : response?.receiver
            }
        }

        private enum Step {
            case bytes([UInt8], any TransportReceiver)
            case end(TransportFailure?, any TransportReceiver)
        }

        /// Delivers what is held, until the receiver pauses.
        private func deliver(_ task: URLSessionTask) {
            while let step = next(task.taskIdentifier) {
                switch step {
                case .bytes(let bytes, let receiver):
                    guard receiver.bytes(bytes) == .pause else { continue }
                    table.withLock { $0[task.taskIdentifier]?.isPausing = true }
                    task.suspend()
                case .end(let failure, let receiver): receiver.ended(failure)
                }
            }
        }

        private func next(_ number: Int) -> Step? {
            table.withLock { table in
                guard var response = table[number] else { return nil }
                if response.isCancelled {
                    guard response.end != nil else { return nil }
                    table[number] = nil
                    return .end(
                        TransportFailure(.cancelled, "the request was cancelled"),
                        response.receiver)
                }
                guard !response.isPausing else { return nil }
                if !response.held.isEmpty {
                    let bytes = response.held.removeFirst()
                    table[number] = response
                    return .bytes(bytes, response.receiver)
                }
                guard let end = response.end else { return nil }
                table[number] = nil
                return .end(end, response.receiver)
            }
        }
    }

    extension TransportFailure {
        fileprivate init(_ error: any Error) {
            let error = error as NSError
            let kind: Kind =
                switch (error.domain, error.code) {
                case (NSURLErrorDomain, NSURLErrorCancelled): .cancelled
                case (NSURLErrorDomain, NSURLErrorBadURL),
                    (NSURLErrorDomain, NSURLErrorUnsupportedURL):
                    .badRequest
                case (NSURLErrorDomain, NSURLErrorCannotFindHost),
                    (NSURLErrorDomain, NSURLErrorDNSLookupFailed),
                    (NSURLErrorDomain, NSURLErrorCannotConnectToHost),
                    (NSURLErrorDomain, NSURLErrorNotConnectedToInternet),
                    (NSURLErrorDomain, NSURLErrorTimedOut):
                    .unreachable
                case (
                    NSURLErrorDomain,
                    NSURLErrorClientCertificateRequired...NSURLErrorSecureConnectionFailed
                ):
                    .insecure
                case (NSURLErrorDomain, NSURLErrorBadServerResponse),
                    (NSURLErrorDomain, NSURLErrorCannotParseResponse):
                    .badResponse
                default: .interrupted
                }
            self.init(kind, error.localizedDescription)
        }
    }
#endif
