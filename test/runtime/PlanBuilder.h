// Builds small plans and artifacts by hand, for tests of the runtime alone.
#ifndef WEFT_TEST_RUNTIME_PLANBUILDER_H
#define WEFT_TEST_RUNTIME_PLANBUILDER_H

#include "runtime/artifact/Plan_generated.h"
#include "runtime/artifact/Writer.h"
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weft::test {
namespace fp = weft::plan;

/// A folder that goes when the test ends.
struct TempDir {
  TempDir() {
    char name[] = "/tmp/weft-test-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~TempDir() { (void)!std::system(("rm -rf " + path).c_str()); }
  std::string file(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

class PlanBuilder {
public:
  // Expressions ------------------------------------------------------------------------------------------------------
  uint32_t node(fp::ExprOp op, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0, int64_t imm = 0) {
    expressions.emplace_back(op, a, b, c, imm);
    return uint32_t(expressions.size() - 1);
  }
  uint32_t number(int64_t value) { return node(fp::ExprOp::constant, 0, 0, 0, value); }
  uint32_t real(double value) {
    int64_t bits;
    __builtin_memcpy(&bits, &value, 8);
    return node(fp::ExprOp::fconst, 0, 0, 0, bits);
  }
  uint32_t symbol(const char *name, fp::SymbolKind kind, uint32_t input = 0, uint32_t index = 0, bool isFloat = false) {
    symbols.push_back(fp::CreateSymbol(fbb, fbb.CreateString(name), kind, input, index, isFloat));
    return uint32_t(symbols.size() - 1);
  }
  uint32_t symbolExpr(uint32_t symbol) { return node(fp::ExprOp::symbol, 0, 0, 0, symbol); }
  uint32_t dim(const char *name, uint32_t input, uint32_t index) { return symbolExpr(symbol(name, fp::SymbolKind::input_dim, input, index)); }

  // Tensors ----------------------------------------------------------------------------------------------------------
  uint32_t tensor(fp::Storage storage, std::vector<uint32_t> dims, uint32_t bytes, uint32_t index = 0, fp::ElementType type = fp::ElementType::float32,
                  uint32_t first = 0, uint32_t last = 0, uint32_t block = 0, uint32_t offset = 0) {
    tensors.push_back(fp::CreateTensor(fbb, 0, type, fbb.CreateVector(dims), bytes, storage, index, offset, first, last, block));
    return uint32_t(tensors.size() - 1);
  }
  uint32_t arena(std::vector<uint32_t> dims, uint32_t bytes, uint32_t first, uint32_t last, uint32_t block = 0,
                 fp::ElementType type = fp::ElementType::float32) {
    return tensor(fp::Storage::arena, dims, bytes, 0, type, first, last, block);
  }
  uint32_t input(const char *name, std::vector<uint32_t> dims, uint32_t bytes, fp::ElementType type = fp::ElementType::float32,
                 std::vector<std::string> names = {}) {
    uint32_t t = tensor(fp::Storage::input, dims, bytes, uint32_t(inputs.size()), type);
    inputs.push_back(fp::CreateInputOutput(fbb, fbb.CreateString(name), type, fbb.CreateVector(dims), fbb.CreateVectorOfStrings(names), t));
    return t;
  }
  uint32_t output(const char *name, std::vector<uint32_t> dims, uint32_t bytes, fp::ElementType type = fp::ElementType::float32) {
    uint32_t t = tensor(fp::Storage::output, dims, bytes, uint32_t(outputs.size()), type);
    outputOf(name, dims, t, type);
    return t;
  }
  void outputOf(const char *name, std::vector<uint32_t> dims, uint32_t tensor, fp::ElementType type = fp::ElementType::float32) {
    outputs.push_back(fp::CreateInputOutput(fbb, fbb.CreateString(name), type, fbb.CreateVector(dims), 0, tensor));
  }
  uint32_t constant(std::vector<uint8_t> bytes, std::vector<uint32_t> dims, uint32_t size) {
    data.push_back(std::make_unique<std::vector<uint8_t>>(std::move(bytes)));
    uint64_t offset = writer.addConstant(*data.back());
    constants.push_back(fp::CreateConstant(fbb, 0, offset, data.back()->size()));
    return tensor(fp::Storage::constant, dims, size, uint32_t(constants.size() - 1));
  }

  // Kernels ----------------------------------------------------------------------------------------------------------
  struct VariantSpec {
    const char *entry;
    uint32_t gridX;
    int32_t guard = -1;
    std::vector<uint32_t> aligned = {};
    bool index32 = false;
    uint32_t blockX = 128;
    uint32_t shared = UINT32_MAX;
  };
  uint32_t kernel(const char *name, std::vector<VariantSpec> specs) {
    std::vector<flatbuffers::Offset<fp::Variant>> variants;
    for (VariantSpec &s : specs) {
      uint32_t one = number(1), zero = number(0);
      auto aligned = fbb.CreateVector(s.aligned);
      variants.push_back(fp::CreateVariant(fbb, fbb.CreateString(s.entry), 0, s.guard, aligned, s.index32, 1, s.gridX, one, one, s.blockX, 1, 1,
                                           s.shared == UINT32_MAX ? zero : s.shared));
    }
    kernels.push_back(fp::CreateKernel(fbb, fbb.CreateString(name), fbb.CreateString("node_of_" + std::string(name)), fbb.CreateVector(variants)));
    return uint32_t(kernels.size() - 1);
  }

  // Instructions -----------------------------------------------------------------------------------------------------
  struct ArgSpec {
    fp::ArgKind kind;
    uint32_t value;
    bool written = false;
    fp::ScalarType type = fp::ScalarType::i64;
  };
  static ArgSpec in(uint32_t tensor) { return {fp::ArgKind::tensor, tensor}; }
  static ArgSpec out(uint32_t tensor) { return {fp::ArgKind::tensor, tensor, true}; }
  static ArgSpec scalar(uint32_t expr, fp::ScalarType type = fp::ScalarType::i64) { return {fp::ArgKind::scalar, expr, false, type}; }
  uint32_t block() {
    blockInstructions.emplace_back();
    return uint32_t(blockInstructions.size() - 1);
  }
  void launch(uint32_t block, uint32_t kernel, std::vector<ArgSpec> specs) {
    std::vector<flatbuffers::Offset<fp::Arg>> args;
    for (ArgSpec &s : specs)
      args.push_back(fp::CreateArg(fbb, s.kind, s.kind == fp::ArgKind::tensor ? s.value : 0, s.kind == fp::ArgKind::scalar ? s.value : 0, s.type, s.written));
    add(block, fp::Op::Launch, fp::CreateLaunch(fbb, kernel, fbb.CreateVector(args)).Union());
  }
  void copy(uint32_t block, uint32_t from, uint32_t to) { add(block, fp::Op::Copy, fp::CreateCopy(fbb, from, to).Union()); }
  void fill(uint32_t block, uint32_t target, uint8_t byte) { add(block, fp::Op::Fill, fp::CreateFill(fbb, target, byte).Union()); }
  void readBack(uint32_t block, uint32_t source, std::vector<uint32_t> to) {
    add(block, fp::Op::ReadBack, fp::CreateReadBack(fbb, source, fbb.CreateVector(to)).Union());
  }
  void setSymbol(uint32_t block, uint32_t symbol, uint32_t expr) { add(block, fp::Op::SetSymbol, fp::CreateSetSymbol(fbb, symbol, expr).Union()); }
  void check(uint32_t block, uint32_t expr, const char *message, const char *node) {
    add(block, fp::Op::Check, fp::CreateCheck(fbb, expr, fbb.CreateString(message), fbb.CreateString(node)).Union());
  }
  void branch(uint32_t block, uint32_t condition, uint32_t thenBlock, uint32_t elseBlock) {
    add(block, fp::Op::If, fp::CreateIf(fbb, condition, thenBlock, elseBlock).Union());
  }
  void loop(uint32_t block, int32_t trips, int32_t condition, uint32_t iteration, uint32_t body) {
    add(block, fp::Op::Loop, fp::CreateLoop(fbb, trips, condition, iteration, body).Union());
  }

  // The whole --------------------------------------------------------------------------------------------------------
  void module(const std::string &ptx) {
    uint64_t offset = writer.addImage({reinterpret_cast<const uint8_t *>(ptx.data()), ptx.size()});
    images.push_back(fp::CreateImage(fbb, 0, fbb.CreateString("sm_80"), fp::ImageKind::ptx, offset, ptx.size(), fbb.CreateString("7.0"),
                                     fbb.CreateString(""), 0));
  }
  std::vector<uint8_t> finish() {
    std::vector<flatbuffers::Offset<fp::Block>> blocks;
    for (auto &instructions : blockInstructions)
      blocks.push_back(fp::CreateBlock(fbb, fbb.CreateVector(instructions)));
    auto targets = fbb.CreateVectorOfStrings(std::vector<std::string>{"sm_80"});
    auto producer = fbb.CreateString("test");
    auto name = fbb.CreateString("hand");
    fbb.Finish(fp::CreatePlan(fbb, producer, name, targets, fbb.CreateVectorOfStructs(expressions), fbb.CreateVector(symbols), fbb.CreateVector(inputs),
                              fbb.CreateVector(outputs), fbb.CreateVector(tensors), fbb.CreateVector(constants), fbb.CreateVector(kernels),
                              fbb.CreateVector(images), fbb.CreateVector(blocks), 0),
               fp::PlanIdentifier());
    return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
  }
  Status write(const std::string &path) {
    writer.setPlan(finish());
    return writer.write(path);
  }

  flatbuffers::FlatBufferBuilder fbb;
  ArtifactWriter writer;

private:
  void add(uint32_t block, fp::Op type, flatbuffers::Offset<void> op) {
    blockInstructions[block].push_back(fp::CreateInstruction(fbb, type, op));
  }
  std::vector<fp::ExprNode> expressions;
  std::vector<flatbuffers::Offset<fp::Symbol>> symbols;
  std::vector<flatbuffers::Offset<fp::InputOutput>> inputs, outputs;
  std::vector<flatbuffers::Offset<fp::Tensor>> tensors;
  std::vector<flatbuffers::Offset<fp::Constant>> constants;
  std::vector<flatbuffers::Offset<fp::Kernel>> kernels;
  std::vector<flatbuffers::Offset<fp::Image>> images;
  std::vector<std::vector<flatbuffers::Offset<fp::Instruction>>> blockInstructions;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> data;
};

} // namespace weft::test
#endif
