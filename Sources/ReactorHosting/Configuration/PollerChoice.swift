/// The mechanism by which a loop detects that a descriptor is ready.
public enum PollerChoice: String, Sendable, CaseIterable {
    /// The best one of the platform: epoll on Linux, Dispatch sources elsewhere.
    case platform
    /// One edge-triggered epoll instance per loop, under one Dispatch source. Linux only.
    case epoll
    /// A Dispatch source for each descriptor: portable, slower.
    case dispatch
}
