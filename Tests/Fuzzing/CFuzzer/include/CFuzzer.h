#ifndef C_FUZZER_H
#define C_FUZZER_H

/// Runs libFuzzer with `LLVMFuzzerTestOneInput`; returns the process's exit status.
///
/// libFuzzer has a `main` of its own, but SwiftPM gives each executable the `main` of its module.
int runFuzzer(int argc, char **argv);

#endif
