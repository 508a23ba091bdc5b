#if os(Linux)
    import Glibc

    /// Reads /proc, whose files have no size and cannot seek.
    enum ProcFile {
        /// A file's text; nil when it cannot be read.
        static func text(_ path: String) -> String? {
            let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 8192)
            while true {
                let count = unsafe buffer.withUnsafeMutableBytes {
                    unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
                }
                guard count > 0 else { break }
                text += buffer[0..<count]
            }
            return String(decoding: text, as: UTF8.self)
        }

        /// The target of a link; nil when it cannot be read.
        static func target(ofLink path: String) -> String? {
            var buffer = [CChar](repeating: 0, count: 4_096)
            let count = unsafe readlink(path, &buffer, buffer.count)
            guard count >= 0 else { return nil }
            return String(
                decoding: buffer[0..<count].lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }

        /// The names in a directory; empty when it cannot be read.
        static func entries(_ path: String) -> [String] {
            guard let directory = unsafe opendir(path) else { return [] }
            defer { unsafe closedir(directory) }
            var names: [String] = []
            while let entry = unsafe readdir(directory) {
                let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                        unsafe String(cString: $0)
                    }
                }
                if !name.hasPrefix(".") { names.append(name) }
            }
            return names
        }
    }
#endif
