#if os(Linux)
    /// A violation by the server, and the connections of the pool that saw it.
    struct StormFault {
        var text: String
        var places: [Int] = []
    }

    /// All clients of a storm: the noise, the crew and the hunters.
    struct StormDriver: ClientDriver {
        private enum Role {
            case noise
            case crew(member: Int)
            case hunter(hunt: Int, part: StormHunt.Part)
        }

        private let roles: [Role]
        private let crewPlaces: Range<Int>
        private var noise: [StormConnection?]
        private var ends: [UInt64]
        private var hunts: [StormHunt]
        /// The hunts of the last server whose journal was a file.
        private var fileHunts: [StormHunt]
        private var isFile = true
        private var requests: StormRequests
        /// The text after `Host: ` in a request of the crew and the hunters: the host and, if the
        /// server needs one, the field with their token.
        private var host = ""
        private var random: SeededNumbers
        private(set) var crew: StormCrew
        private(set) var faults: [StormFault] = []
        /// Whether clients start nothing new, so that all outstanding requests can be answered.
        private(set) var isFinishing = false
        /// Whether each member of the crew has an outstanding request.
        private var asked: [Bool]
        private var isStopping = false
        /// Until this time only hunters connect, as long as one of them is hunting.
        private var quietUntil: UInt64 = 0
        /// The maximum duration of that quiet period after a server's start.
        private static let quietNanoseconds: UInt64 = 500_000_000

        init(noise count: Int, sessions: Int, hunts huntCount: Int, crew: StormCrew, seed: UInt64) {
            crewPlaces = count..<(count + crew.size)
            roles =
                [Role](repeating: .noise, count: count)
                + (0..<crew.size).map { .crew(member: $0) }
                + (0..<huntCount).flatMap { hunt in
                    StormHunt.Part.allCases.map { .hunter(hunt: hunt, part: $0) }
                }
            noise = [StormConnection?](repeating: nil, count: count)
            ends = [UInt64](repeating: 0, count: count)
            asked = [Bool](repeating: false, count: crew.size)
            hunts = (0..<huntCount).map { StormHunt(number: $0) }
            fileHunts = hunts
            requests = StormRequests(host: "storm", sessions: sessions, keptRecords: 1)
            random = SeededNumbers(seed: seed)
            self.crew = crew
        }

        /// The number of connections that the pool needs.
        var places: Int { roles.count }
        var hunted: Int { hunts.reduce(0) { $0 + $1.completed } }

        mutating func record(_ text: String, places: [Int] = []) {
            faults.append(StormFault(text: text, places: places))
        }

        // MARK: The server comes and goes

        mutating func serverStarted(_ settings: StormSettings, crew: StormCrew, host: String) {
            self.crew = crew
            self.crew.serverStarted(settings)
            isFinishing = false
            isStopping = false
            quietUntil = Clock.now() + Self.quietNanoseconds
            asked = [Bool](repeating: false, count: asked.count)
            requests.host = host
            requests.tokens = settings.hasTokens ? StormTokens.noise : []
            self.host = StormRequests.host(host, settings.hasTokens ? StormTokens.all : nil)
            requests.keptRecords = settings.keptRecords
            requests.readOnly = [crew.session, crew.counter]
            if !settings.isFile { requests.forget() }
            if isFile { fileHunts = hunts }
            isFile = settings.isFile
            if isFile { hunts = fileHunts }
            for index in hunts.indices {
                hunts[index].serverStarted(isFile: settings.isFile, &random)
            }
        }

        mutating func serverIsStopping() { isStopping = true }

        /// Cancels the crew's outstanding requests.
        mutating func serverIsGone() {
            for member in asked.indices { crew.lost(member) }
            asked = [Bool](repeating: false, count: asked.count)
            noise = [StormConnection?](repeating: nil, count: noise.count)
        }

        /// Ends the noise, and lets the crew receive its outstanding responses.
        mutating func finish(_ pool: inout ClientPool) {
            isFinishing = true
            for place in roles.indices where !crewPlaces.contains(place) { pool.close(place) }
        }

        /// The members of the crew that wait for a response.
        var waiting: [Int] {
            crewPlaces.filter { asked[$0 - crewPlaces.lowerBound] }
        }

        // MARK: Between turns

        /// Opens, closes and uses the connections that are due.
        mutating func step(_ pool: inout ClientPool) throws(BenchError) {
            let now = Clock.now()
            if !isFinishing {
                for place in crewPlaces.upperBound..<roles.count {
                    try stepHunter(place, now, &pool)
                }
                if now < quietUntil, hunts.contains(where: \.isAfterPrey) { return }
                for place in noise.indices { try stepNoise(place, now, &pool) }
            }
            for place in crewPlaces {
                if !pool.connections[place].isOpen {
                    try pool.open(place)
                } else if pool.connections[place].isConnected,
                    !asked[place - crewPlaces.lowerBound]
                {
                    try ask(place, &pool)
                }
            }
        }

        private mutating func stepNoise(
            _ place: Int, _ now: UInt64, _ pool: inout ClientPool
        ) throws(BenchError) {
            if let connection = noise[place] {
                guard now >= ends[place] || connection.hasAllAnswers else { return }
                pool.close(place, hard: connection.ending == .reset)
                noise[place] = nil
            }
            let isSmall = Int.random(in: 0..<6, using: &random) == 0
            try pool.open(place, receiveBufferBytes: isSmall ? 2_048 : nil)
        }

        private mutating func stepHunter(
            _ place: Int, _ now: UInt64, _ pool: inout ClientPool
        ) throws(BenchError) {
            guard case .hunter(let hunt, let part) = roles[place] else { return }
            hunts[hunt].tick(now)
            guard hunts[hunt].wants(part) else { return pool.close(place) }
            guard pool.connections[place].isOpen else { return try pool.open(place) }
            guard pool.connections[place].isConnected, pool.connections[place].outstanding == 0,
                !hunts[hunt].isPresent(part)
            else { return }
            let first = place - part.rawValue
            for (part, bytes) in hunts[hunt].connected(part, host: host, &random) {
                try pool.send(first + part.rawValue, bytes)
            }
        }

        private mutating func ask(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            guard !isFinishing, !isStopping else { return }
            let member = place - crewPlaces.lowerBound
            guard let bytes = crew.request(member, host: host, &random) else { return }
            asked[member] = true
            try pool.send(place, bytes)
            // Some connections close before the response; a request with a key is sent again.
            guard Int.random(in: 0..<64, using: &random) == 0 else { return }
            asked[member] = false
            pool.close(place, hard: Bool.random(using: &random))
            crew.lost(member)
        }

        // MARK: ClientDriver

        mutating func connected(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            guard case .noise = roles[place] else { return }
            let connection = StormConnection(&requests, &random)
            pool.behave(place) {
                $0.gathers = nil
                $0.reads = connection.reads
                $0.piece = connection.piece
                $0.closesSending = connection.ending == .shutDown
            }
            noise[place] = connection
            ends[place] = Clock.now() + connection.nanoseconds
            try pool.send(place, connection.bytes, requests: connection.requests)
        }

        mutating func began(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            let status = pool.connections[place].status
            switch roles[place] {
            case .noise:
                if let fault = noise[place]?.began(status) { record(fault, places: [place]) }
                if status == 410, let session = noise[place]?.session { requests.retire(session) }
            case .crew, .hunter:
                if AnswerRules.isFault(status) { record("\(status)", places: others(place)) }
            }
        }

        mutating func read(
            _ place: Int, _ bytes: Span<UInt8>, _ range: Range<Int>, _ pool: inout ClientPool
        ) {
            guard place < noise.count, let told = noise[place]?.read(bytes, range) else { return }
            learn(told, place)
        }

        private mutating func learn(_ position: String, _ place: Int) {
            if let session = noise[place]?.session { requests.learn(position, of: session) }
        }

        mutating func answered(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            let (status, body) = (pool.connections[place].status, pool.connections[place].body)
            switch roles[place] {
            case .noise:
                if let told = noise[place]?.ended() { learn(told, place) }
            case .crew(let member):
                asked[member] = false
                for fault in crew.answered(member, status, body) {
                    record(fault, places: others(place))
                }
                if let told = AnswerRules.text(after: "\"position\":\"", in: body) {
                    requests.learn(told, of: crew.session)
                }
                if pool.connections[place].closes { return pool.close(place) }
                try ask(place, &pool)
            case .hunter(let hunt, let part):
                let fault = hunts[hunt].answered(part, status, body, now: Clock.now(), &random)
                if let fault { record(fault, places: others(place)) }
                if pool.connections[place].closes { pool.close(place) }
            }
        }

        mutating func lost(
            _ place: Int, _ loss: ClientLoss, _ pool: inout ClientPool
        ) throws(BenchError) {
            if case .unreadable(let fault) = loss {
                let line = place < noise.count ? noise[place].map { $0.line($0.answers) } : nil
                record("\(fault) in the answer to \(line ?? "a request")", places: others(place))
            }
            switch roles[place] {
            case .noise: noise[place] = nil
            case .crew(let member):
                asked[member] = false
                crew.lost(member)
                if loss == .closed(inAnswer: true), !isStopping {
                    record("an answer is cut short", places: others(place))
                }
            case .hunter(let hunt, let part): hunts[hunt].lost(part, &random)
            }
        }

        /// The connections that use the same session.
        private func others(_ place: Int) -> [Int] {
            switch roles[place] {
            case .noise: [place]
            case .crew: Array(crewPlaces)
            case .hunter(_, let part):
                Array((place - part.rawValue)..<(place - part.rawValue + StormHunt.parts))
            }
        }
    }
#endif
