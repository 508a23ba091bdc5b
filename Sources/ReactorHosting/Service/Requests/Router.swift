package import Wire

/// Finds the route for a method and a path.
///
/// Design: built once from ``Route/table``; matching compares bytes in place and allocates
/// nothing. `HEAD` is served wherever `GET` is (RFC 9110 §9.3.2).
package struct Router: Sendable {
    package enum Match: Equatable, Sendable {
        /// `segment` is the path segment that matches the one in braces, if there is one.
        case route(Route, segment: Range<Int>?)
        /// The path exists without this method; the methods for `Allow`, including `OPTIONS`.
        case methods([String])
        case nothing
    }

    private struct Pattern: Sendable {
        /// nil stands for a segment in braces.
        var segments: [[UInt8]?]
        var routes: [(method: Method, route: Route)]
        var methods: [String]
    }

    /// Invariant: no two patterns match the same path.
    private let patterns: [Pattern]

    package init(routes: [Route] = Route.table) {
        var patterns: [Pattern] = []
        var indices: [String: Int] = [:]
        for route in routes {
            let index = indices[route.path] ?? patterns.count
            if index == patterns.count {
                indices[route.path] = index
                patterns.append(
                    Pattern(segments: Self.segments(route.path), routes: [], methods: []))
            }
            guard let method = Method(rawValue: route.method) else {
                preconditionFailure("a route has the unknown method \(route.method)")
            }
            patterns[index].routes.append((method, route))
            patterns[index].methods.append(route.method)
        }
        for index in patterns.indices {
            var methods = patterns[index].methods
            if methods.contains("GET") { methods.append("HEAD") }
            patterns[index].methods = methods.sorted() + ["OPTIONS"]
        }
        self.patterns = patterns
    }

    /// `path` is a range of `bytes`, beginning with a slash.
    package func match(_ method: Method, _ bytes: [UInt8], _ path: Range<Int>) -> Match {
        let patterns = patterns.span
        for index in patterns.indices {
            guard let segment = Self.matches(patterns[index].segments, bytes.span, path) else {
                continue
            }
            let wanted = method == .head ? .get : method
            for (candidate, route) in patterns[index].routes where candidate == wanted {
                return .route(route, segment: segment.isEmpty ? nil : segment)
            }
            return .methods(patterns[index].methods)
        }
        return .nothing
    }

    /// Nil if there is no match; otherwise the segment in braces, empty if the pattern has none.
    private static func matches(
        _ segments: [[UInt8]?], _ bytes: Span<UInt8>, _ path: Range<Int>
    ) -> Range<Int>? {
        var named = path.lowerBound..<path.lowerBound
        var at = path.lowerBound
        for segment in segments {
            guard at < path.upperBound, bytes[at] == UInt8(ascii: "/") else { return nil }
            at += 1
            if let segment {
                guard path.upperBound - at >= segment.count else { return nil }
                for offset in segment.indices where bytes[at + offset] != segment[offset] {
                    return nil
                }
                at += segment.count
            } else {
                let start = at
                while at < path.upperBound, bytes[at] != UInt8(ascii: "/") { at += 1 }
                guard at > start else { return nil }
                named = start..<at
            }
        }
        return at == path.upperBound ? named : nil
    }

    private static func segments(_ path: String) -> [[UInt8]?] {
        // The root is one empty segment.
        path == "/"
            ? [[]] : path.split(separator: "/").map { $0.hasPrefix("{") ? nil : Array($0.utf8) }
    }
}
