#if os(Linux)
    import Glibc

    /// A network of the cluster's own: each node and each database in a network namespace, all on
    /// one bridge, to which the clients are connected too. See ip-netns(8), iptables(8).
    ///
    /// Needs root, and ip(8), iptables(8) and tc(8). A run that is itself killed leaves the
    /// namespaces behind (`ip netns list`).
    final class ClusterNetwork {
        /// A process or server with a namespace.
        enum Host: Hashable {
            case node(Int)
            case database(String)
        }

        /// Which packets are dropped.
        enum Dropped {
            /// Those that arrive at the host.
            case incoming
            case both
        }

        /// The file with the secret of the links.
        let secretPath: String
        private let bridge: String
        /// The first three numbers of all addresses. Two runs hardly share it.
        private let prefix: String
        private var numbers: [Host: Int] = [:]

        init(_ hosts: [Host]) throws(BenchError) {
            let run = Int(getpid())
            bridge = "rb\(run)"
            secretPath = "/tmp/reactor-cluster-\(run).secret"
            prefix = "10.\(64 + run % 64).\(run / 64 % 256)"
            for (index, host) in hosts.enumerated() { numbers[host] = 10 + index }
            let secret = String(repeating: "secret", count: 6)
            try VictimProcess.finish([
                "sh", "-c", "umask 077; printf \(secret) > \(secretPath)",
            ])
            try Self.run("ip link add \(bridge) type bridge")
            try Self.run("ip addr add \(prefix).1/24 dev \(bridge)")
            try Self.run("ip link set \(bridge) up")
            for host in hosts { try add(host) }
        }

        private func add(_ host: Host) throws(BenchError) {
            let (space, end) = (name(host), "\(name(host))e")
            try Self.run("ip netns add \(space)")
            try Self.run("ip link add \(space) type veth peer name \(end)")
            try Self.run("ip link set \(space) master \(bridge)")
            try Self.run("ip link set \(space) up")
            try Self.run("ip link set \(end) netns \(space)")
            try Self.run("ip -n \(space) addr add \(address(host))/24 dev \(end)")
            try Self.run("ip -n \(space) link set \(end) up")
            try Self.run("ip -n \(space) link set lo up")
        }

        /// Called once, when all processes in it have ended.
        func remove() {
            for host in numbers.keys { try? Self.run("ip netns del \(name(host))") }
            try? Self.run("ip link del \(bridge)")
            try? Self.run("rm -f \(secretPath)")
        }

        private func name(_ host: Host) -> String { "\(bridge)h\(numbers[host] ?? 0)" }

        func address(_ host: Host) -> String { "\(prefix).\(numbers[host] ?? 0)" }

        /// The command that is carried out in the host's namespace.
        func words(_ words: [String], on host: Host) -> [String] {
            ["ip", "netns", "exec", name(host)] + words
        }

        /// Drops the packets between a host and others, until ``heal(_:)``.
        func cut(_ host: Host, from others: [Host], _ dropped: Dropped) throws(BenchError) {
            for other in others.map(address) {
                try rule("-A INPUT -s \(other) -j DROP", host)
                if dropped == .both { try rule("-A OUTPUT -d \(other) -j DROP", host) }
            }
        }

        func heal(_ host: Host) throws(BenchError) { try rule("-F", host) }

        /// Loses every tenth packet that comes, until ``heal(_:)``.
        func thinOut(_ host: Host) throws(BenchError) {
            try rule("-A INPUT -m statistic --mode random --probability 0.1 -j DROP", host)
        }

        /// A narrow line, with a queue before it (tc-tbf(8)), until ``widen(_:)``.
        func narrow(_ host: Host) throws(BenchError) {
            try Self.run(
                "tc -n \(name(host)) qdisc add dev \(name(host))e root "
                    + "tbf rate 256kbit burst 4kb latency 500ms")
        }

        func widen(_ host: Host) throws(BenchError) {
            try Self.run("tc -n \(name(host)) qdisc del dev \(name(host))e root")
        }

        private func rule(_ rule: String, _ host: Host) throws(BenchError) {
            try Self.run("ip netns exec \(name(host)) iptables -w \(rule)")
        }

        private static func run(_ command: String) throws(BenchError) {
            try VictimProcess.finish(command.split(separator: " ").map(String.init))
        }
    }
#endif
