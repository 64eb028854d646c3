// The CUDA driver, reached by name: the real libcuda.so.1 or the emulator's.
#ifndef WEFT_RUNTIME_DRIVER_DRIVER_H
#define WEFT_RUNTIME_DRIVER_DRIVER_H

#include "runtime/Status.h"
#include "runtime/driver/CudaApi.h"
#include <memory>
#include <string>

namespace weft {

/// One loaded driver library; its functions stand as members under their own names. Never unloaded.
class Driver {
public:
  /// Loads `library` and looks up every function; machine error where it or one of them is missing.
  static Status load(const std::string &library, std::unique_ptr<Driver> &out);
  /// A failed call as a Status: call, number, name.
  Status check(CUresult result, const char *call) const;
  /// A function that only the emulator exports; null elsewhere.
  void *find(const char *name) const;
  const std::string &library() const { return path; }

#define WEFT_CUDA_SYMBOL(name, exported, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
#include "runtime/driver/CudaSymbols.def"

private:
  std::string path;
  void *handle = nullptr;
};

/// Returns from the enclosing function where the driver's function fails.
#define WEFT_CUDA(driver, function, ...) WEFT_TRY((driver).check((driver).function(__VA_ARGS__), #function))

} // namespace weft
#endif
