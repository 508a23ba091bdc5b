internal import CPages
internal import Wire

/// A file that is served as it is: of the console, of the JavaScript client, or the specification.
///
/// Invariant: the bytes never change, so the tag is the version of the file.
package struct Page: Sendable {
    /// The path at which it is served, such as `/console/console.js`.
    package let path: String
    package let mediaType: String
    package let bytes: [UInt8]
    /// The entity tag, without its quotes.
    package let tag: String

    package init(path: String, mediaType: String, bytes: [UInt8]) {
        self.path = path
        self.mediaType = mediaType
        self.bytes = bytes
        let hash = unsafe bytes.withUnsafeBufferPointer {
            unsafe page_hash($0.baseAddress, $0.count)
        }
        let digits = String(hash, radix: 16)
        tag = String(repeating: "0", count: 16 - digits.count) + digits
    }

    package static let embedded: [String: Page] = {
        var pages: [String: Page] = [:]
        for index in 0..<page_count() {
            guard let page = unsafe page_at(index)?.pointee else { continue }
            let bytes = unsafe UnsafeBufferPointer(start: page.bytes, count: page.count)
            let path = unsafe String(cString: page.path)
            pages[path] = unsafe Page(
                path: path, mediaType: String(cString: page.media_type), bytes: Array(bytes))
        }
        return pages
    }()

    /// openapi.yaml of the repository, embedded, so that a server needs no file beside it.
    package static let specification = embedded["/openapi.yaml"]?.bytes ?? []
}

extension Response {
    /// The page, or 304 for a client that has it.
    ///
    /// - Throws: The problem of a malformed `If-None-Match`.
    static func page(
        _ page: Page, for request: Request, fields: [(String, String)] = []
    ) throws(Problem) -> Response {
        let kept = [("ETag", "\"\(page.tag)\""), isValidated] + fields
        if request.head.range(of: .ifNoneMatch) != nil,
            try EntityTags(request.head, .ifNoneMatch).includes(page.tag)
        {
            return Response(status: 304, fields: kept)
        }
        return Response(
            status: 200, fields: [("Content-Type", page.mediaType)] + kept + pageFields,
            body: .constant(page.bytes))
    }

    /// No inline script or style, no request to elsewhere, no frame, no form that leaves the page.
    private static let pageFields = [
        (
            "Content-Security-Policy",
            """
            default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
            img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
        ),
        ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ]
}
