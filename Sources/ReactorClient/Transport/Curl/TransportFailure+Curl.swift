#if os(Linux)
    internal import CClientCurl

    extension TransportFailure.Kind {
        /// The kind of one of libcurl's errors.
        init(_ result: CURLcode) {
            switch result {
            case CURLE_URL_MALFORMAT, CURLE_LOGIN_DENIED: self = .badRequest
            case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
                CURLE_OPERATION_TIMEDOUT, CURLE_INTERFACE_FAILED, CURLE_PROXY:
                self = .unreachable
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
                CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE,
                CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_ENGINE_NOTFOUND,
                CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED,
                CURLE_SSL_PINNEDPUBKEYNOTMATCH:
                self = .insecure
            // The first one also stands for a response that is not HTTP.
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2,
                CURLE_HTTP2_STREAM, CURLE_BAD_CONTENT_ENCODING:
                self = .badResponse
            case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: self = .exhausted
            default: self = .interrupted
            }
        }
    }
#endif
