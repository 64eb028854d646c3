// weft-import MODEL: imports an ONNX model and prints the graph dialect. A tool for tests of the frontend alone.
#include "frontends/onnx/Import.h"
#include "mlir/IR/MLIRContext.h"

int main(int argc, char **argv) {
  if (argc == 2 && llvm::StringRef(argv[1]) == "--print-operators")
    return weft::onnx::printOperators(llvm::outs()), 0;
  if (argc != 2) {
    llvm::errs() << "usage: weft-import MODEL.onnx | MODEL.onnxtext | --print-operators\n";
    return 2;
  }
  mlir::MLIRContext context;
  auto module = weft::onnx::importModel(argv[1], context);
  if (!module)
    return 1;
  module->print(llvm::outs(), mlir::OpPrintingFlags().elideLargeResourceString(16).elideLargeElementsAttrs(64));
  llvm::outs() << "\n";
  return 0;
}
