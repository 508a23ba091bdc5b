package import Dispatch

extension DispatchQueue {
    /// Acts after everything that was submitted before; returns when that has ended.
    package func run(_ act: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            self.async {
                act()
                continuation.resume()
            }
        }
    }
}
