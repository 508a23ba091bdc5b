#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Who may read the files that this program makes.
///
/// SQLite gives a journal's log and index the mode of the journal itself, so `chmod 640` on the
/// journal lets a group read all three.
package enum FileMode {
    /// Every message of every session is in them.
    static let ofOwner: mode_t = 0o600

    /// Whether users besides owner and group may use the file; false if there is none.
    package static func admitsOthers(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return false }
        return status.st_mode & 0o007 != 0
    }
}
