internal import Logging
internal import Sockets

extension HTTPConnection {
    /// Logs a request and its response: 5xx as an error, 4xx as information, all others for
    /// debugging. With `--access-log on`, also a line there.
    func logRequest(_ request: RequestContext, status: Int, code: String?, bytes: Int) {
        if loop.settings.hasAccessLog { logAccess(request, status: status, code, bytes: bytes) }
        let level: Logger.Level = status >= 500 ? .error : status >= 400 ? .info : .debug
        guard level >= loop.settings.logLevel else { return }
        var metadata = metadata(of: request)
        metadata["status"] = .stringConvertible(status)
        if let code { metadata["code"] = "\(code)" }
        loop.settings.logger.log(level: level, "request", metadata: metadata)
    }

    /// Logs a stream at its end: for debugging, and in the access log.
    ///
    /// - Parameter bytes: The bytes of events that were sent.
    func logStream(_ request: RequestContext, bytes: Int) {
        if loop.settings.hasAccessLog { logAccess(request, status: 200, nil, bytes: bytes) }
        guard .debug >= loop.settings.logLevel else { return }
        loop.settings.logger.debug("stream ended", metadata: metadata(of: request))
    }

    func logAccess(_ request: RequestContext, status: Int, _ code: String?, bytes: Int) {
        var metadata = metadata(of: request)
        let line = identity.methodAndPath
        metadata["method"] = "\(line.method)"
        metadata["path"] = "\(line.path)"
        metadata["status"] = .stringConvertible(status)
        metadata["bytes"] = .stringConvertible(bytes)
        if let code { metadata["code"] = "\(code)" }
        loop.settings.accessLogger.info("access", metadata: metadata)
    }

    /// The names of the present request, for a line about it.
    func requestMetadata() -> Logger.Metadata {
        // The next request must not have the id that may be generated for this one.
        repeatedTarget = nil
        return identity.metadata { loop.newRequestID() }
    }

    private func metadata(of request: RequestContext) -> Logger.Metadata {
        var metadata = requestMetadata()
        metadata["operation"] = "\(request.route?.operationID ?? "none")"
        metadata["duration_ms"] = .stringConvertible(LogMilliseconds(loop.now - request.since))
        return metadata
    }
}
