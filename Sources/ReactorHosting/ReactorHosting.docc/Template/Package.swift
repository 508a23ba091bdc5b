// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "reading-list",
    platforms: [.macOS(.v15)],
    dependencies: [
        // The address from which you cloned it.
        .package(url: "https://git.example/reactor-server", from: "0.1.0")
    ],
    targets: [
        // Apart from the server, so that its tests need none.
        .target(
            name: "ReadingLists",
            dependencies: [.product(name: "Reactors", package: "reactor-server")]),
        .executableTarget(
            name: "reading-list",
            dependencies: [
                "ReadingLists",
                .product(name: "ReactorHosting", package: "reactor-server"),
                .product(name: "ReactorPostgres", package: "reactor-server"),
                .product(name: "ReactorTokens", package: "reactor-server"),
            ],
            path: "Sources/Server"),
        .testTarget(
            name: "ReadingListsTests",
            dependencies: [
                "ReadingLists", .product(name: "ReactorTesting", package: "reactor-server"),
            ]),
    ]
)
