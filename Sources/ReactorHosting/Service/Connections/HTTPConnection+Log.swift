internal import Logging
internal import Sockets

// The lines of requests in the log.
extension HTTPConnection {
    /// Logs a request and its response: 5xx as an error, 4xx as information, all others for
    /// debugging.
    ///
    /// - Parameter code: The code of a problem.
    func logRequest(_ request: RequestContext, status: Int, code: String?) {
        let level: Logger.Level = status >= 500 ? .error : status >= 400 ? .info : .debug
        guard level >= loop.service.logLevel else { return }
        var metadata = metadata(of: request)
        metadata["status"] = .stringConvertible(status)
        if let code { metadata["code"] = "\(code)" }
        loop.service.logger.log(level: level, "request", metadata: metadata)
    }

    /// Logs a stream at its end, for debugging.
    func logStream(_ request: RequestContext) {
        guard .debug >= loop.service.logLevel else { return }
        loop.service.logger.debug("stream ended", metadata: metadata(of: request))
    }

    private func metadata(of request: RequestContext) -> Logger.Metadata {
        var metadata = identity.metadata { loop.newRequestID() }
        metadata["operation"] = "\(request.route?.operationID ?? "none")"
        metadata["duration_ms"] = .stringConvertible(LogMilliseconds(loop.now - request.since))
        return metadata
    }
}
