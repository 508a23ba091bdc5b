#if os(Linux)
    internal import CClientCurl
    internal import Glibc

    /// The transport on Linux: libcurl, on one thread of its own.
    ///
    /// It has what libcurl has: TLS with the system's certificates, HTTP/2 where the server offers
    /// it over TLS, proxies, kept connections. It sends no cookie, no credential that is not in a
    /// request, and no field that a request does not name but `Host` and `Content-Length`.
    ///
    /// libcurl sends a request again by itself in one case: on a kept connection that turns out to
    /// be closed before a byte of the response has arrived. A request that changes something must
    /// have an `Idempotency-Key`, as those of a client have.
    ///
    /// Requests that are under way when the last reference to the transport goes end with
    /// ``TransportFailure/Kind/cancelled``.
    public final class CurlTransport: RoundTransport {
        private let mailbox: CurlMailbox

        /// Starts the thread.
        ///
        /// - Throws: `exhausted` if the system has no memory, descriptor or thread left.
        public init(_ settings: CurlSettings = .init()) throws(TransportFailure) {
            guard Self.isReady, let multi = unsafe curl_multi_init() else {
                throw TransportFailure(.exhausted, "libcurl cannot be initialised")
            }
            let sockets: CurlSockets
            do throws(TransportFailure) {
                mailbox = try CurlMailbox(limit: settings.requestLimit)
                sockets = try CurlSockets(with: mailbox.bell)
            } catch {
                _ = unsafe curl_multi_cleanup(multi)
                throw error
            }
            let runner = unsafe CurlRunner(multi, mailbox, sockets, settings)
            guard let code = Self.startThread(runner) else { return }
            runner.stop()
            throw TransportFailure(
                .exhausted, "no thread for requests can be started: error \(code)")
        }

        deinit { mailbox.stop() }

        /// Starts a request. One beyond ``CurlSettings/requestLimit`` ends at once
        /// with `exhausted`.
        public func start(
            _ request: TransportRequest, _ receiver: any TransportReceiver
        ) -> any TransportHandle {
            let (handle, failure) = mailbox.start(request, receiver)
            if let failure { receiver.ended(failure) }
            return handle
        }

        /// Why once and explicitly: the initialisation that `curl_multi_init` would do is not safe
        /// on several threads in all versions.
        private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

        /// - Returns: the error, if there is one.
        private static func startThread(_ runner: CurlRunner) -> Int32? {
            // A new thread has the signal mask of its creator. With all of them blocked no handler
            // of the program runs on it, and a write to a closed connection cannot end the process
            // with SIGPIPE; faults of the processor are delivered anyway.
            var all = sigset_t()
            var before = sigset_t()
            unsafe sigfillset(&all)
            unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
            defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
            let context = unsafe Unmanaged.passRetained(runner)
            var thread = pthread_t()
            let code = unsafe pthread_create(
                &thread, nil,
                { context in
                    guard let context = unsafe context else { return nil }
                    unsafe Unmanaged<CurlRunner>.fromOpaque(context).takeRetainedValue().run()
                    return nil
                }, context.toOpaque())
            guard code == 0 else {
                unsafe context.release()
                return code
            }
            pthread_detach(thread)
            return nil
        }
    }

    /// The settings of a ``CurlTransport``.
    public struct CurlSettings: Hashable, Sendable {
        /// The path of a file with certificates (PEM) that are trusted in place of the system's;
        /// nil: the system's. A file that cannot be read fails each request to an `https` address.
        public var trustedCertificates: String?
        /// The address of a proxy; empty: none; nil: the one that the environment names
        /// (`https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`).
        public var proxy: String?
        /// Requests under way, without streams; more wait, in order. Default 64; at least 1.
        public var requestsAtOnce = 64
        /// Requests and streams, with waiting ones; one more fails at once. Default 10 000.
        public var requestLimit = 10_000
        /// The largest head of a response, with those of informational responses before it; a
        /// larger one fails the request. Default 64 KiB.
        public var headLimitBytes = 65_536

        /// The default settings.
        public init() {}
    }
#endif
