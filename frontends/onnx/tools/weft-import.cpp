// weft-import MODEL: imports an ONNX model and prints the graph dialect. A tool for tests of the frontend alone.
// With several models it prints one line for each: "ok NAME" or "refused NAME: first message".
#include "frontends/onnx/Import.h"
#include "mlir/IR/MLIRContext.h"

static void judge(llvm::StringRef path) {
  mlir::MLIRContext context;
  std::string first;
  context.getDiagEngine().registerHandler([&](mlir::Diagnostic &diagnostic) {
    if (first.empty())
      first = diagnostic.str();
  });
  bool ok(weft::onnx::importModel(path, context));
  llvm::outs() << (ok ? "ok " : "refused ") << path << (ok ? "" : ": " + first) << "\n";
  llvm::outs().flush();
}

int main(int argc, char **argv) {
  if (argc == 2 && llvm::StringRef(argv[1]) == "--print-operators")
    return weft::onnx::printOperators(llvm::outs()), 0;
  if (argc < 2) {
    llvm::errs() << "usage: weft-import MODEL.onnx | MODEL.onnxtext | --print-operators\n";
    return 2;
  }
  if (argc > 2) {
    for (int i = 1; i < argc; ++i)
      judge(argv[i]);
    return 0;
  }
  mlir::MLIRContext context;
  auto module = weft::onnx::importModel(argv[1], context);
  if (!module)
    return 1;
  module->print(llvm::outs(), mlir::OpPrintingFlags().elideLargeResourceString(16).elideLargeElementsAttrs(64));
  llvm::outs() << "\n";
  return 0;
}
