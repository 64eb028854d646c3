// LLVM dialect -> LLVM IR -> PTX, in process.
//
// Guarantees: functions of libdevice are linked as far as they are used and inlined; nothing is contracted; a fatal error in
// LLVM is caught and the kernel at fault is named.
#include "codegen/nvptx/Nvptx.h"
#include "dialects/tile/Tile.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <mutex>

using namespace mlir;

namespace weft::nvptx {
namespace {

void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

/// The target's name in LLVM: compute_80 is sm_80's PTX at its least version.
StringRef cpuOf(StringRef target) { return target == "compute_80" ? "sm_80" : target; }

std::unique_ptr<llvm::TargetMachine> createMachine(StringRef target, std::string &error) {
  initializeTarget();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(triple, cpuOf(target), "", options, llvm::Reloc::Static, std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// The library's functions that `module` calls, made internal.
bool linkLibdevice(llvm::Module &module, const Tools &tools, std::string &error) {
  bool needed = llvm::any_of(module, [](llvm::Function &f) { return f.isDeclaration() && f.getName().starts_with("__nv_"); });
  if (!needed)
    return true;
  std::string path = tools.libdevice();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    error = "cannot read libdevice '" + path + "': " + buffer.getError().message();
    return false;
  }
  auto library = llvm::getOwningLazyBitcodeModule(std::move(*buffer), module.getContext());
  if (!library) {
    error = path + ": " + llvm::toString(library.takeError());
    return false;
  }
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  bool failed = llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded);
  for (llvm::Function &function : module) // the library's own helpers too: a call costs a stack in local memory
    if (!function.isDeclaration() && function.getName().starts_with("__")) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
      function.removeFnAttr(llvm::Attribute::NoInline);
    }
  if (failed)
    error = "cannot link " + path;
  return !failed;
}

/// A short pipeline: kernels are emitted nearly in the form they should have.
void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", 0u);
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(
      passes, "nvvm-reflect,always-inline,globaldce,"
              "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,"
              "loop-mssa(loop-rotate,licm),loop-unroll-full,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)"));
  passes.run(module, modules);
}

std::string emit(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  machine.addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile, /*DisableVerify=*/true);
  passes.run(module);
  return text.str().str();
}

/// A module with copies of the kernels that `wanted` names (all: none given).
OwningOpRef<ModuleOp> copyKernels(ModuleOp module, tile::KernelOp wanted = {}) {
  OpBuilder b(module.getContext());
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  b.setInsertionPointToEnd(copy->getBody());
  for (auto kernel : module.getOps<tile::KernelOp>())
    if (!wanted || kernel == wanted)
      b.clone(*kernel);
  return copy;
}

/// What the lowering makes and the translation reads.
void registerTranslations(MLIRContext *context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<LLVM::LLVMDialect, cf::ControlFlowDialect, arith::ArithDialect, scf::SCFDialect, vector::VectorDialect>();
  context->getOrLoadDialect("nvvm");
}

struct Result {
  std::vector<std::string> ptx;
  std::string error;
};

Result translate(ModuleOp kernels, ArrayRef<std::string> targets, const Tools &tools) {
  Result result;
  if (failed(lowerToLLVM(kernels))) {
    result.error = "kernels cannot be lowered";
    return result;
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, context, "weft", /*disableVerification=*/true);
  if (!module) {
    result.error = "kernels cannot be translated to LLVM";
    return result;
  }
  for (const std::string &target : targets) {
    auto machine = createMachine(target, result.error);
    if (!machine)
      return result;
    std::unique_ptr<llvm::Module> mine = &target == &targets.back() ? std::move(module) : llvm::CloneModule(*module);
    mine->setTargetTriple(machine->getTargetTriple());
    mine->setDataLayout(machine->createDataLayout());
    if (!linkLibdevice(*mine, tools, result.error))
      return result;
    optimize(*mine, *machine);
    result.ptx.push_back(emit(*mine, *machine));
  }
  return result;
}

/// `translate`, with LLVM's fatal errors caught: false where one happened.
bool translateSafely(ModuleOp kernels, ArrayRef<std::string> targets, const Tools &tools, Result &result) {
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  return recovery.RunSafely([&] { result = translate(kernels, targets, tools); });
}

/// Says which kernel LLVM gives up on.
void blame(ModuleOp module, ArrayRef<std::string> targets, const Tools &tools) {
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    Result result;
    OwningOpRef<ModuleOp> alone = copyKernels(module, kernel);
    if (translateSafely(*alone, targets, tools, result))
      continue;
    std::string text;
    llvm::raw_string_ostream os(text);
    kernel->print(os, OpPrintingFlags().useLocalScope());
    auto diagnostic = kernel.emitError("LLVM gave up on kernel '") << kernel.getSymName() << "' of node '" << kernel.getNodes() << "'";
    diagnostic.attachNote() << "the kernel: " << text;
    return;
  }
  module.emitError("LLVM gave up on the kernels together, though not on any one alone");
}
} // namespace

FailureOr<std::vector<std::string>> translateToPtx(ModuleOp module, ArrayRef<std::string> targets, const Tools &tools) {
  registerTranslations(module.getContext());
  Result result;
  OwningOpRef<ModuleOp> kernels = copyKernels(module);
  if (!translateSafely(*kernels, targets, tools, result)) {
    (void)kernels.release(); // its state is unknown
    blame(module, targets, tools);
    return failure();
  }
  if (!result.error.empty())
    return module.emitError(result.error), failure();
  return std::move(result.ptx);
}

} // namespace weft::nvptx
