"""lit suites: every .mlir, .onnxtext, .ptx and .test file below test/ that has a RUN line.

ONNX's text parser skips lines that begin with `#`, so a model holds its own `# RUN:` and `# CHECK:` lines. A test may use
weftc, weft-run, weft-opt, FileCheck, not, split-file, ptxas, %python, %device (emulator or cuda), %S, %s, %t.
A file named in `lit.local.cfg` or by a `REQUIRES:` line may ask for the features `compiler`, `cuda`, `ptxas`, `asan`.
"""
import os

import lit.formats

config.name = "weft"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".onnxtext", ".test", ".ptx"]
config.excludes = ["errors", "models", "Inputs", "conformance", "e2e", "cases", "bench", "fuzz"]
config.test_source_root = os.path.join(config.weft_source, "test")
config.test_exec_root = os.path.join(config.weft_build, "test", "lit")
config.environment["FILECHECK_OPTS"] = "--dump-input=fail --dump-input-filter=annotation-full"

device = os.environ.get("WEFT_TEST_DEVICE", "emulator")
binaries = os.path.join(config.weft_build, "bin")
config.environment["PATH"] = os.pathsep.join([binaries, config.llvm_tools, os.environ.get("PATH", "")])
config.environment["WEFT_PTXAS"] = config.ptxas
for name in ("HOME", "WEFT_CACHE", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions += [
    ("%python", config.python),
    ("%device", device),
    ("%source", config.weft_source),
    ("%build", config.weft_build),
    (r"(?<![\w/.-])ptxas(?![\w/.-])", config.ptxas or "ptxas-is-not-installed"),
]
for tool in ("weftc", "weft-opt"):
    if os.path.exists(os.path.join(binaries, tool)):
        config.available_features.add("compiler" if tool == "weftc" else "weft-opt")
if config.ptxas:
    config.available_features.add("ptxas")
if device.startswith("cuda"):
    config.available_features.add("cuda")
if "address" in config.sanitize:
    config.available_features.add("asan")
if "compiler" not in config.available_features:
    config.suffixes = [".mlir", ".test", ".ptx"]  # A model is nothing without weftc.
if "weft-opt" not in config.available_features:
    config.suffixes.remove(".mlir")
