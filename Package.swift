// swift-tools-version: 6.2
import PackageDescription

/// One set of rules for every target: the compiler finds what a reviewer would have to.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// What a module that hosts reactors inlines from (ADR-0013). Named wherever one is: SwiftPM
/// compiles a module again when one of those that it names has changed, and not for what is behind
/// them.
let inlined = ["Sessions", "JSONCoding", "Reactors"]

let crypto = Target.Dependency.target(
    name: "CCrypto", condition: .when(traits: ["Tokens", "Complete"]))

let package = Package(
    name: "reactor-server",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Reactors", targets: ["Reactors"]),
        .library(name: "Cyclers", targets: ["Cyclers"]),
        .library(name: "ReactorTesting", targets: ["ReactorTesting"]),
        .library(name: "ReactorReplay", targets: ["ReactorReplay"]),
        .library(name: "ReactorClient", targets: ["ReactorClient"]),
        .library(name: "ReactorHosting", targets: ["ReactorHosting"] + inlined),
        .library(name: "ReactorPostgres", targets: ["ReactorPostgres"]),
        .library(name: "ReactorTokens", targets: ["ReactorTokens"]),
        .library(name: "ReactorMetrics", targets: ["ReactorMetrics"]),
        .library(name: "ReactorTracing", targets: ["ReactorTracing"]),
        .executable(name: "reactor-server", targets: ["reactor-server"]),
    ],
    // What costs a user something that not every user needs (ADR-0066). By default there is one
    // trait, and not the two that it stands for: SwiftPM passes each as a -D, in another order each
    // time (seen on 6.3.1 in .build/debug.yaml), and every second build would compile all again.
    traits: [
        .trait(name: "Complete", description: "Tokens and PostgreSQL. On by default."),
        .trait(name: "Tokens", description: "--auth jwt. Needs libcrypto."),
        .trait(name: "PostgreSQL", description: "--journal postgres://… Needs libpq."),
        .default(enabledTraits: ["Complete"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.11.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // Floor 3, the part users write against: pure, no dependency at all.
        .target(name: "Reactors", swiftSettings: strict),
        .target(name: "Cyclers", dependencies: ["Reactors"], swiftSettings: strict),
        .target(name: "ReactorTesting", dependencies: ["Reactors"], swiftSettings: strict),

        // Pure machines: bytes in, events out.
        .target(name: "Wire", swiftSettings: strict),
        .target(name: "JSONCoding", dependencies: ["Reactors"], swiftSettings: strict),

        // For tests of users, apart from ReactorTesting: it needs the coder (ADR-0028).
        .target(
            name: "ReactorReplay", dependencies: ["Reactors", "JSONCoding"], swiftSettings: strict),

        // A client without I/O: inputs in, outputs out (ADR-0039).
        .target(
            name: "ClientMachine", dependencies: ["Reactors", "JSONCoding", "Wire"],
            swiftSettings: strict),
        // The client of programs: its machine between a transport and an outbox. libcurl is the
        // transport on Linux; Apple platforms have URLSession.
        .systemLibrary(
            name: "CClientCurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(
            name: "ReactorClient",
            dependencies: [
                "ClientMachine", "Reactors", "JSONCoding", "Wire",
                .target(name: "CClientCurl", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: strict),

        // Floor 1.
        .target(name: "CEpoll"),
        .target(name: "CMalloc"),
        .target(name: "CCrash"),
        .target(name: "CFiles"),
        .target(name: "Sockets", dependencies: ["CEpoll"], swiftSettings: strict),

        // Pure: who the members are, and where a session's home is.
        .target(name: "Cluster", swiftSettings: strict),

        // Floors 4 and 3.
        .target(
            name: "Storage",
            dependencies: [
                "JSONCoding", "CCrash", "CFiles", "Cluster",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        // A session as its readers know it: the committed history and the framed
        // streams (ADR-0073).
        .target(
            name: "Feeds",
            dependencies: [
                "JSONCoding", "Wire", "Storage",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Sessions",
            dependencies: [
                "Feeds", "Reactors", "Cyclers", "JSONCoding", "Wire", "Storage", "Cluster",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: strict
        ),

        // Which of several nodes decides on a session (ADR-0079). Sessions do not import it.
        .target(
            name: "Clustering",
            dependencies: [
                "Cluster", "Feeds", "Sessions", "Sockets", "Storage", "Wire",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),

        // openapi.yaml, the console and the JavaScript client as bytes (ADR-0046).
        .target(name: "CPages"),

        // Floor 2 and the composition root.
        .target(
            name: "ReactorHosting",
            dependencies: [
                "Reactors", "Cyclers", "JSONCoding", "Wire", "Sockets", "Storage", "Feeds",
                "Sessions",
                "Cluster", "Clustering", "CPages", "CMalloc",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        // A product of its own: a host without tokens links no cryptography (ADR-0027). A build
        // with tests compiles every product of a package, so it has a trait as well.
        .systemLibrary(
            name: "CCrypto", pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .target(
            name: "ReactorTokens",
            dependencies: ["ReactorHosting", "JSONCoding", crypto],
            swiftSettings: strict
        ),
        // Likewise: a host without swift-metrics compiles none of it (ADR-0032).
        .target(
            name: "ReactorMetrics",
            dependencies: [
                "ReactorHosting", .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            swiftSettings: strict
        ),
        // Likewise for swift-distributed-tracing (ADR-0036).
        .target(
            name: "ReactorTracing",
            dependencies: [
                "ReactorHosting", .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict
        ),
        // Likewise: a host without it runs without libpq (ADR-0047), and has a trait.
        .systemLibrary(
            name: "CPostgres", pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "ReactorPostgres",
            dependencies: [
                .target(name: "CPostgres", condition: .when(traits: ["PostgreSQL", "Complete"])),
                "Cluster",
                "ReactorHosting", "Storage",
            ],
            swiftSettings: strict),
        .target(
            name: "SampleReactors", dependencies: ["Reactors", "Cyclers"], swiftSettings: strict),
        .executableTarget(
            name: "reactor-server",
            dependencies: ["ReactorHosting", "ReactorPostgres", "ReactorTokens", "SampleReactors"]
                + inlined.map { .target(name: $0) },
            swiftSettings: strict
        ),

        .target(
            name: "TestStreams", dependencies: ["Reactors"], path: "Tests/TestStreams",
            swiftSettings: strict),
        .testTarget(
            name: "ReactorsTests", dependencies: ["Reactors", "ReactorTesting", "TestStreams"],
            swiftSettings: strict),
        .testTarget(
            name: "CyclersTests",
            dependencies: ["Cyclers", "Reactors", "ReactorTesting", "TestStreams"],
            swiftSettings: strict),
        .testTarget(
            name: "ReactorTestingTests",
            dependencies: ["ReactorTesting", "ReactorReplay", "Reactors"],
            swiftSettings: strict),
        .testTarget(
            name: "ReactorReplayTests", dependencies: ["ReactorReplay", "Reactors"],
            swiftSettings: strict),
        .target(
            name: "TestRandomness", path: "Tests/TestRandomness", swiftSettings: strict),
        // How tests and fuzz targets read bytes in pieces.
        .target(
            name: "WireFeeds", dependencies: ["Wire"], path: "Tests/WireFeeds",
            swiftSettings: strict),
        .testTarget(
            name: "WireTests", dependencies: ["Wire", "WireFeeds", "TestRandomness"],
            swiftSettings: strict),
        .testTarget(
            name: "JSONCodingTests", dependencies: ["JSONCoding", "Reactors", "TestRandomness"],
            swiftSettings: strict),
        .testTarget(
            name: "ClientMachineTests",
            dependencies: ["ClientMachine", "JSONCoding", "Reactors", "TestRandomness", "Wire"],
            swiftSettings: strict),
        .testTarget(
            name: "ReactorClientTests",
            dependencies: [
                "ReactorClient", "ClientMachine", "Reactors", "TestProcesses", "TestRandomness",
            ],
            swiftSettings: strict),
        .testTarget(name: "SocketsTests", dependencies: ["Sockets"], swiftSettings: strict),
        .testTarget(
            name: "ClusterTests", dependencies: ["Cluster", "TestRandomness"],
            swiftSettings: strict),
        .testTarget(
            name: "ClusteringTests",
            dependencies: [
                "Cluster", "Clustering", "Feeds", "Sessions", "Sockets", "Storage", "TestLogging",
                "Wire",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "TestLogging", dependencies: [.product(name: "Logging", package: "swift-log")],
            path: "Tests/TestLogging", swiftSettings: strict),
        // What every journal promises, as one table of tests for all engines.
        .target(
            name: "EngineSuite", dependencies: ["Storage", "TestRandomness"],
            path: "Tests/EngineSuite", swiftSettings: strict),
        // A disk that fails on demand: an SQLite file system in front of the system's.
        .target(
            name: "CFaultyDisk", path: "Tests/CFaultyDisk",
            linkerSettings: [.linkedLibrary("sqlite3")]),
        .testTarget(
            name: "StorageTests",
            dependencies: [
                "Storage", "CFaultyDisk", "EngineSuite", "JSONCoding", "TestProcesses",
                "TestRandomness",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        // A PostgreSQL server for the time of a test.
        .target(
            name: "PostgresRig", dependencies: ["TestProcesses"], path: "Tests/PostgresRig",
            swiftSettings: strict),
        .testTarget(
            name: "ReactorPostgresTests",
            dependencies: ["ReactorPostgres", "Cluster", "EngineSuite", "PostgresRig", "Storage"],
            swiftSettings: strict),
        .testTarget(
            name: "SessionsTests",
            dependencies: [
                "Sessions", "Feeds", "Reactors", "Cyclers", "ReactorHosting", "Storage",
                "SampleReactors", "ClientMachine", "EngineSuite", "JSONCoding", "Wire",
                "TestRandomness", "ReactorTesting",
                "TestStreams", "Cluster", "Clustering",
            ],
            swiftSettings: strict),
        .systemLibrary(name: "CSpawn", path: "Tests/CSpawn"),
        // How tests start processes.
        .target(
            name: "TestProcesses", dependencies: ["CSpawn"], path: "Tests/TestProcesses",
            swiftSettings: strict),
        .executableTarget(
            name: "fixture-server",
            dependencies: [
                "ReactorHosting", "ReactorPostgres", "ReactorTokens", "Cyclers", "SampleReactors",
            ] + inlined.map { .target(name: $0) },
            path: "Tests/FixtureServer", swiftSettings: strict),
        // The Swift client as a child process of `.ci/conformance`.
        .executableTarget(
            name: "conformance-adapter",
            dependencies: ["ReactorClient", "Reactors", "JSONCoding", "SampleReactors"],
            path: "Tests/ConformanceAdapter", swiftSettings: strict),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "CClientCurl", "Cluster", "Clustering", "reactor-server", "fixture-server",
                "PostgresRig", "ReactorClient", "ReactorHosting", "ReactorPostgres",
                "ReactorReplay", "Reactors",
                "SampleReactors", "Sockets", "Storage", "TestProcesses", "Wire",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReactorHostingTests",
            dependencies: [
                "ReactorHosting", "Wire", "Sockets", "JSONCoding", "Feeds", "Sessions", "Storage",
                "Cluster", "Clustering", "Reactors", "TestLogging", "TestRandomness",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReactorTokensTests",
            dependencies: [
                "ReactorTokens", "ReactorHosting", "JSONCoding", crypto,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReactorMetricsTests",
            dependencies: [
                "ReactorMetrics", "ReactorHosting", "Sockets", "Wire",
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReactorTracingTests",
            dependencies: [
                "ReactorTracing", "ReactorHosting", "Cyclers",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ] + inlined.map { .target(name: $0) },
            swiftSettings: strict),
        .testTarget(
            name: "OwnReactorTests",
            dependencies: ["ReactorHosting"] + inlined.map { .target(name: $0) },
            swiftSettings: strict),
    ]
)

// What loads, tortures and measures a server. `.ci/run` sets the variable. Why a variable: a
// package that depends on this one compiles all of its products with its tests. With the variable
// there are more targets, and the others are built as without it.
if Context.environment["REACTOR_LOAD"] != nil {
    package.products += [
        .executable(name: "reactor-bench", targets: ["reactor-bench"]),
        // For `reactor-bench cluster --clocks`.
        .library(name: "WrongClock", type: .dynamic, targets: ["WrongClock"]),
    ]
    package.targets += [
        .executableTarget(
            name: "reactor-bench",
            dependencies: [
                "CEpoll", "Reactors",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Load/ReactorBench", swiftSettings: strict),
        .testTarget(
            name: "ReactorBenchTests", dependencies: ["reactor-bench", "ReactorHosting"],
            path: "Tests/Load/ReactorBenchTests", swiftSettings: strict),
        .target(name: "WrongClock", path: "Tests/Load/WrongClock"),
        // Apart from reactor-bench, which needs no libcurl.
        .executableTarget(
            name: "client-bench",
            dependencies: [
                "ReactorClient", "JSONCoding", "Reactors", "CClientCurl",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Load/ClientBench", swiftSettings: strict),
    ]
}

/// The fuzz targets, each with what it calls. One is added by a line here, a file in
/// `Tests/Fuzzing/<name>` and seeds in `Tests/Fuzzing/Corpora/<name>`.
let fuzzing: [String: [Target.Dependency]] = [
    "Actions": ["JSONCoding", "SampleReactors"],
    "Chunks": ["Wire", "WireFeeds"],
    "Events": ["Wire", "WireFeeds"],
    "Links": ["Wire", "WireFeeds"],
    "Patches": ["JSONCoding"],
    "Positions": ["Feeds", "Storage"],
    "Records": ["Storage"],
    "Requests": ["Wire", "WireFeeds"],
    "Tokens": ["ReactorTokens", "ReactorHosting", "JSONCoding"],
    "Vectors": ["ReactorHosting", "Feeds", "Sessions", "Wire"],
]

// `.ci/run libfuzzer` sets the variable. Why here and not in a package of its own: most of what is
// fuzzed is not public, and `package` access ends with the package. Why a variable: libFuzzer has a
// `main` of its own and every module is instrumented, so one build cannot have both these programs
// and the others. Dependencies are not instrumented: the coverage that guides the fuzzer is ours.
if Context.environment["REACTOR_FUZZING"] != nil {
    let instrumented = SwiftSetting.unsafeFlags(["-sanitize=fuzzer,address", "-enable-testing"])
    let plain: Set = ["CCrash", "CEpoll", "CFiles", "CMalloc", "CPages"]
    let needed = plain.union([
        "Reactors", "Cyclers", "Wire", "JSONCoding", "Cluster", "Storage", "Feeds", "Sessions",
        "Clustering", "SampleReactors",
        "TestRandomness", "WireFeeds",
        // For the claims of tokens.
        "ReactorTokens", "ReactorHosting", "Sockets",
    ])
    package.products = []
    package.targets.removeAll { !needed.contains($0.name) }
    for target in package.targets where !plain.contains(target.name) {
        target.swiftSettings = strict + [instrumented]
    }
    package.targets += [
        .target(name: "CFuzzer", path: "Tests/Fuzzing/CFuzzer"),
        .target(
            name: "FuzzSupport", dependencies: ["CFuzzer", "TestRandomness"],
            path: "Tests/Fuzzing/Support", swiftSettings: strict + [instrumented]),
    ]
    package.targets += fuzzing.map { name, tested in
        .executableTarget(
            name: "Fuzz\(name)", dependencies: ["FuzzSupport"] + tested,
            path: "Tests/Fuzzing/\(name)",
            swiftSettings: strict + [instrumented],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address"])])
    }
}
