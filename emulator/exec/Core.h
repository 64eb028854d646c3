//===- Core.h - The emulator's core: parse PTX, run kernels -----*- C++ -*-===//
//
// Guarantees: no PTX text, however hostile, makes the process crash, hang or touch host memory outside what `Memory`
// hands out and the block's own shared, local and parameter storage. Every failure is a Diagnostic (parsing) or a Trap
// (running). Nothing is printed, there is no global mutable state, a Module is immutable and may be launched from several
// threads at once.
//
// Leaves to others (the driver layer): device memory and its addresses, streams, contexts, occupancy limits.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_EXEC_CORE_H
#define WEFT_EMULATOR_EXEC_CORE_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::emu {

/// Why a text was rejected; `line` is 1-based, 0 where no line is to blame.
struct Diagnostic {
  std::string message;
  unsigned line = 0;
};

/// Generic addresses. The driver must keep its allocations out of [kWindowsBegin, kWindowsEnd), and above 0.
/// A shared address is `kSharedWindow + offset`; likewise local and parameters. All windows are 4 GiB.
inline constexpr uint64_t kWindowsBegin = 0x0001'0000'0000'0000;
inline constexpr uint64_t kSharedWindow = kWindowsBegin;
inline constexpr uint64_t kLocalWindow = 0x0001'0001'0000'0000;
inline constexpr uint64_t kParamWindow = 0x0001'0002'0000'0000;
inline constexpr uint64_t kWindowsEnd = 0x0001'0003'0000'0000;

/// One kernel parameter: where its bytes lie in the buffer given to `launch`.
struct ParamInfo {
  uint32_t offset = 0, size = 0, align = 1;
};

struct KernelInfo {
  std::string name;
  std::vector<ParamInfo> params;
  uint32_t paramBytes = 0;
  uint32_t staticSharedBytes = 0;
  uint32_t localBytes = 0;                  // per thread
  uint32_t numRegs = 0;                     // an estimate, 32-bit registers per thread
  uint32_t maxThreads = 1024;               // from .maxntid / .reqntid, else 1024
  std::array<uint32_t, 3> reqntid{0, 0, 0}; // 0 where not given
  std::array<uint32_t, 3> maxntid{0, 0, 0};
  uint32_t minnctapersm = 0, maxnreg = 0;
  std::array<uint32_t, 3> reqnctapercluster{0, 0, 0}; // .reqnctapercluster, 0 where not given
  bool floatAtomics = false; // result depends on block order: the core then uses one host thread
};

/// Bytes [offset, offset+size) of a global's initial value hold the address of another global plus `addend`.
/// `generic` tells only how it was written; all global addresses are generic already.
struct Relocation {
  uint64_t offset = 0;
  uint32_t size = 8;
  uint32_t target = 0; // index into Module::globals()
  int64_t addend = 0;
};

/// A module-scope .global or .const variable. The driver allocates `size` bytes aligned to `align`, fills them with
/// `init` (zero beyond its end), applies the relocations, and passes the address to `launch` at the same index.
/// .const variables are reached through the same flat addresses. `extern .shared` is no GlobalInfo.
struct GlobalInfo {
  std::string name;
  uint64_t size = 0, align = 1;
  bool isConst = false;
  bool isExtern = false; // declared, not defined here: link it to another module's
  std::vector<uint8_t> init;
  std::vector<Relocation> relocations;
};

/// Parsed and decoded PTX.
class Module {
public:
  virtual ~Module() = default;
  virtual const std::vector<KernelInfo> &kernels() const = 0;
  virtual const std::vector<GlobalInfo> &globals() const = 0;
  /// Index into kernels(), or -1.
  virtual int findKernel(std::string_view name) const = 0;
  /// Index into globals(), or -1.
  virtual int findGlobal(std::string_view name) const = 0;
  /// The text's `.target` (80 for sm_80) and `.version` (70 for 7.0).
  virtual unsigned target() const = 0;
  virtual unsigned ptxVersion() const = 0;
};

/// Parses and decodes `ptx` for a device of compute capability `smVersion` (80, 90, ...). Null on error.
std::unique_ptr<Module> parseModule(std::string_view ptx, unsigned smVersion, Diagnostic &diagnostic);

/// Device memory as kernels see it; implemented by the driver layer. Must be safe to call from several threads.
class Memory {
public:
  /// One live allocation: device addresses [begin, end), host bytes at `host`. `initialized`, one byte for each byte of
  /// the allocation (nonzero = written), may be null (then reads of unwritten memory are not reported).
  struct Range {
    uint64_t begin = 0, end = 0;
    uint8_t *host = nullptr;
    uint8_t *initialized = nullptr;
  };
  virtual ~Memory() = default;
  /// Finds the live allocation that holds `addr`. The interpreter caches the answer for the duration of one launch, so
  /// allocations must not go away while a launch runs.
  virtual bool lookup(uint64_t addr, Range &out) = 0;
};

enum class BlockOrder { Forward, Reverse, Random };

struct LaunchOptions {
  bool check = false;    // uninitialised reads, shared-memory races, divergent barriers (see LaunchResult::findings)
  bool counters = false; // fill LaunchResult::counters beyond `instructions`
  uint64_t stepLimit = uint64_t(1) << 36; // warp instructions for the whole launch
  BlockOrder order = BlockOrder::Forward; // of blocks, and of warps between yields
  uint64_t seed = 0;
  bool eager = false;       // asynchronous copies at once rather than as late as legal
  unsigned hostThreads = 1; // 0: all
  unsigned smCount = 1;     // only for %nsmid / %smid
  std::string_view kernelTag; // put in front of messages, e.g. the ONNX node; may be empty
};

struct LaunchCounters {
  uint64_t instructions = 0;       // warp instructions
  uint64_t threadInstructions = 0; // sum of active lanes
  uint64_t globalLoadBytes = 0, globalStoreBytes = 0; // bytes asked for by active lanes
  uint64_t globalSectors = 0;      // distinct 32-byte sectors per warp access
  uint64_t globalAccesses = 0;     // warp accesses
  uint64_t sharedBytes = 0, sharedAccesses = 0;
  uint64_t bankConflicts = 0; // shared wavefronts beyond the least possible
  uint64_t atomics = 0, barriers = 0;
  std::map<std::string, uint64_t> mix; // warp instructions by base opcode
};

enum class Trap {
  None,
  IllegalAddress,     // out of every allocation, or of shared/local/param storage
  MisalignedAddress,
  IllegalInstruction, // e.g. undefined operand at run time
  StepLimit,
  Deadlock, // every warp waits
  TrapInstruction, // `trap`
  Assert,          // __assertfail
  InvalidLaunch,   // bad block size, too few shared bytes, wrong kernel index
};
const char *toString(Trap trap);

struct LaunchResult {
  Trap trap = Trap::None;
  std::string message; // kernel, PTX line, block, thread, address
  uint64_t address = 0;
  LaunchCounters counters;
  std::vector<std::string> findings; // --check reports; one per PTX line and kind
  std::string printed;               // output of vprintf
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

/// Runs one kernel to its end. `params` holds KernelInfo::paramBytes bytes. `globalAddresses` holds one device address for
/// each of Module::globals().
LaunchResult launch(const Module &module, unsigned kernelIndex, Dim3 grid, Dim3 block, uint32_t dynamicSharedBytes,
                    const uint8_t *params, Memory &memory, const std::vector<uint64_t> &globalAddresses,
                    const LaunchOptions &options);

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_CORE_H
