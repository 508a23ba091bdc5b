#if os(Linux)
    extension Target {
        /// The subscribers of `options`; the last `stalled` of them never read.
        func subscribers(
            _ options: StreamOptions, publishers: Int, marks: Bool, stalled: Int = 0
        ) throws(BenchError) -> SubscriberPlan {
            let preset = self.options.preset
            let isJoint = options.sessionsPerStream > 1
            let path =
                options.subscribePath
                ?? (isJoint ? preset.jointSubscribePath : nil) ?? preset.subscribePath
            var addresses: [Address] = []
            for url in options.subscribeURLs {
                guard let server = Endpoint(url) else { continue }
                addresses.append(try Address(host: server.host, port: server.port))
            }
            return SubscriberPlan(
                template: template("GET", path, extra: ["Accept: text/event-stream"]),
                count: options.subscribers + stalled, streams: options.streams,
                sessionsPerStream: options.sessionsPerStream, publishers: publishers,
                checks: DeliveryChecks(
                    ids: options.ids ?? preset.ids, marks: marks,
                    serviceEvents: preset.hasServiceEvents),
                addresses: addresses.isEmpty ? [address] : addresses,
                connectsInFlight: options.inFlight,
                awaitsFirstBytes: options.firstBytes, stalled: stalled)
        }

        /// The publishers of `options`.
        func publishers(_ options: PublishOptions, streams: Int) -> RequestPlan {
            let preset = self.options.preset
            let body = options.body ?? (options.marks ? preset.markedBody : preset.plainBody)
            let path = options.publishPath ?? preset.publishPath
            return RequestPlan(
                templates: [template(options.publishMethod, path, body: body)],
                connections: options.publishers, streams: streams, choice: .rotating,
                limit: options.events.map { $0 * options.publishers } ?? Int.max,
                rate: options.rate)
        }

        /// The server's current usage.
        func usage(isDeep: Bool = true) -> ProcessUsage {
            ProcessUsage.read(options.pids, isDeep: isDeep)
        }
    }
#endif
