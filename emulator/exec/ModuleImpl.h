//===- ModuleImpl.h - What a Module holds -----------------------*- C++ -*-===//
//
// Guarantees: immutable after parseModule.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_EXEC_MODULEIMPL_H
#define WEFT_EMULATOR_EXEC_MODULEIMPL_H

#include "exec/Program.h"

namespace weft::emu {

class ModuleImpl final : public Module {
public:
  const std::vector<KernelInfo> &kernels() const override { return kernelInfos; }
  const std::vector<GlobalInfo> &globals() const override { return globalInfos; }
  int findKernel(std::string_view name) const override;
  int findGlobal(std::string_view name) const override;
  unsigned target() const override { return sm; }
  unsigned ptxVersion() const override { return version; }

  std::vector<KernelInfo> kernelInfos;
  std::vector<GlobalInfo> globalInfos;
  std::vector<std::unique_ptr<Program>> programs; // one for each kernel
  std::vector<std::string> opNames;
  unsigned sm = 0, version = 0;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_MODULEIMPL_H
