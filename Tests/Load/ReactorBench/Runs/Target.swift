#if os(Linux)
    /// A resolved server and the run's name: the beginning of every run.
    struct Target {
        let options: TargetOptions
        let endpoint: Endpoint
        let address: Address
        let run: String

        /// Resolves the URL; throws where the host has no address.
        init(_ options: TargetOptions) throws(BenchError) {
            guard let endpoint = Endpoint(options.url) else {
                throw .usage("--url \(options.url): expected http://host:port[/prefix]")
            }
            self.options = options
            self.endpoint = endpoint
            address = try Address(host: endpoint.host, port: endpoint.port)
            run = options.resolvedRunName()
        }

        /// A request to this server.
        func template(
            _ method: String, _ path: String, body: String? = nil, extra: [String] = []
        ) -> RequestTemplate {
            RequestTemplate(
                method: method, path: endpoint.prefix + path, headers: extra + options.headers,
                body: body, authority: endpoint.authority, run: run)
        }

        /// Sends the set-up requests of sessions `0..<count`, and throws unless all succeed.
        func setUp(sessions count: Int) throws(BenchError) {
            for line in options.setupLines {
                let plan = RequestPlan(
                    templates: [template(line.method, line.path, body: line.body)],
                    connections: min(count, 16), depth: 8, streams: count,
                    choice: .sequential, limit: count)
                var driver = try Driver(requests: plan, subscriptions: nil, target: self)
                try driver.publishers.start(driver.poller)
                let deadline = Clock.now() + options.timeout.nanoseconds
                while !driver.publishers.isDone, Clock.now() < deadline {
                    try driver.turn(until: deadline)
                }
                let tally = driver.publishers.tally
                driver.close()
                guard tally.accepted == UInt64(count) else {
                    let why = tally.problems.first ?? "no answer within the timeout"
                    throw .setup("set-up '\(line.method) \(line.path)': \(why)")
                }
            }
        }
    }
#endif
