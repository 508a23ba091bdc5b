#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension PeerAddress {
    /// Reads an IPv4 or IPv6 address in text form (inet_pton(3)), without port, brackets and scope;
    /// the port is 0. Nil for anything else.
    package init?(_ text: String) {
        // The longest form has 45 characters; a NUL inside would end the text early.
        guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
        var ipv4 = in_addr()
        if unsafe inet_pton(AF_INET, text, &ipv4) == 1 {
            self = .ipv4(UInt32(bigEndian: ipv4.s_addr), port: 0)
            return
        }
        var ipv6 = sockaddr_in6()
        guard unsafe inet_pton(AF_INET6, text, &ipv6.sin6_addr) == 1 else { return nil }
        self.init(ipv6)
    }
}
