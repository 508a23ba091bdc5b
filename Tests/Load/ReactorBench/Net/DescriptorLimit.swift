#if os(Linux)
    import Glibc

    /// The process's limit on open files.
    enum DescriptorLimit {
        /// Raises the limit as far as this process may; throws if it stays too low for the run.
        ///
        /// `count` is the number of sockets; 64 more descriptors are reserved for everything else.
        static func raise(for count: Int) throws(BenchError) {
            let wanted = rlim_t(count + 64)
            var limit = rlimit()
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            if limit.rlim_max < wanted {
                // Root may raise the hard limit, up to fs.nr_open.
                var higher = rlimit(rlim_cur: wanted, rlim_max: wanted)
                if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &higher) == 0 {
                    return
                }
            }
            limit.rlim_cur = limit.rlim_max
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            guard limit.rlim_cur >= wanted else {
                throw .usage(
                    "\(count) connections need \(wanted) descriptors; the limit is"
                        + " \(limit.rlim_cur) (ulimit -Hn)")
            }
        }
    }
#endif
