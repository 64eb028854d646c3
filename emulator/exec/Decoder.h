//===- Decoder.h - Syntax tree to Program -----------------------*- C++ -*-===//
//
// Guarantees: a Program comes out only if every opcode, type, operand and space was understood and checked; anything else
// is a Diagnostic with its line. Split by family: Decoder.cpp (functions, symbols, operands), DecodeArith.cpp,
// DecodeMemory.cpp, DecodeControl.cpp, DecodeMatrix.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_EXEC_DECODER_H
#define WEFT_EMULATOR_EXEC_DECODER_H

#include "exec/Machine.h"
#include "ptx/Ast.h"

#include <unordered_map>
#include <unordered_set>

namespace weft::emu {

/// What all kernels of a module share.
struct ModuleTables {
  const ptx::Text *text = nullptr;
  unsigned sm = 0;
  std::unordered_map<std::string_view, uint32_t> globalIndex;   // into Module::globals()
  std::unordered_map<std::string_view, uint32_t> sharedIndex;   // into Text::globals
  std::unordered_map<std::string_view, uint32_t> functionIndex; // into Text::functions
  std::vector<std::string> opNames;
  std::unordered_map<std::string_view, uint16_t> opIndex;
};

class Decoder {
public:
  Decoder(ModuleTables &tables, Program &program, Diagnostic &diagnostic)
      : tables(tables), program(program), diagnostic(diagnostic) {}
  bool kernel(const ptx::Function &f, KernelInfo &info);

private:
  using Op = ptx::Operand;
  using In = ptx::Instruction;
  using Decode = bool (Decoder::*)(const In &);

  /// One inlined instance of a function.
  struct Frame {
    const ptx::Function *f = nullptr;
    std::vector<uint32_t> regs;         // offset of each register, kNone until used
    std::vector<uint32_t> vars;         // offset of each variable in its space
    std::vector<uint32_t> params, rets; // local offset (functions) or parameter offset (kernels)
    std::vector<uint32_t> pcOf;         // body index -> code index
    std::vector<std::pair<uint32_t, uint32_t>> branches; // code index -> body index
    std::vector<std::pair<uint32_t, uint32_t>> lists;    // index in Program::lists -> body index
    std::vector<uint32_t> returns;                       // code indices of branches to the end
  };

  // Decoder.cpp
  bool fail(std::string message);
  bool function(const ptx::Function &f, std::vector<uint32_t> params, std::vector<uint32_t> rets);
  bool instruction(const In &in);
  bool layoutShared(const ptx::Function &entry);
  void collectShared(const ptx::Function &f, std::unordered_set<const ptx::Function *> &seen, std::vector<const ptx::Variable *> &vars);
  Inst &emit(Handler fn, Kind kind = Kind::Simple);
  Inst &emitRow(const char *key);
  uint32_t allocate(uint32_t bytes);
  uint32_t temp(unsigned bits);
  uint32_t tempPred();
  uint32_t constant(uint64_t value, unsigned bits);
  uint32_t constantAddress(uint32_t global, int64_t addend, unsigned width);
  uint32_t constantMask(uint32_t mask);
  void findStraight();
  uint32_t allLanes() { return constantMask(0xffffffffu); }
  uint32_t special(std::string_view name, char part, unsigned &bits);
  uint32_t regOffset(uint32_t reg);
  ptx::Ty regType(uint32_t reg) const { return frame->f->regs[reg].type; }
  bool checkReg(uint32_t reg, ptx::Ty type, unsigned bits, bool widerAllowed);
  bool symbolValue(const Op &o, ptx::Space &space, uint64_t &offset, int32_t &global);
  /// Operand of `bits` (1 for predicates) read as `type`.
  bool source(const Op &o, ptx::Ty type, unsigned bits, uint32_t &out);
  bool sourcePred(const Op &o, uint32_t &out);
  bool dest(const Op &o, ptx::Ty type, unsigned bits, uint32_t &out, bool sinkAllowed = false);
  bool destPred(const Op &o, uint32_t &out);
  bool operandCount(const In &in, size_t least, size_t most);
  bool needSm(unsigned sm, const char *what);
  uint64_t immediateBits(const Op &o, ptx::Ty type, unsigned bits);

  // DecodeArith.cpp
  bool table(const In &in);
  bool mov(const In &in);
  bool movVector(const In &in, ptx::Ty type);
  bool setp(const In &in);
  bool set(const In &in);
  bool compareInto(const In &in, uint32_t dest);
  bool cvt(const In &in);
  bool cvtGeneric(const In &in, ptx::Ty to, ptx::Ty from, uint8_t round, unsigned flags);
  bool lop3(const In &in);
  bool prmt(const In &in);
  bool floatOp(const In &in);
  const HandlerRow *rowFor(const In &in, uint8_t &fp, bool &flush, bool &sat, bool &relu, ptx::Ty &type);

  // DecodeMemory.cpp
  bool address(const Op &o, ptx::Space space, Inst &inst);
  bool load(const In &in);
  bool store(const In &in);
  bool atom(const In &in);
  bool cvta(const In &in);
  bool isspacep(const In &in);
  bool cp(const In &in);
  bool createpolicy(const In &in);

  // DecodeControl.cpp
  bool bra(const In &in);
  bool brx(const In &in);
  bool call(const In &in);
  bool callExtern(const In &in, const ptx::Function &f, const Op *rets, const Op *args);
  bool ret(const In &in);
  bool exit(const In &in);
  bool trap(const In &in);
  bool bar(const In &in);
  bool shfl(const In &in);
  bool vote(const In &in);
  bool match(const In &in);
  bool redux(const In &in);
  bool elect(const In &in);
  bool activemask(const In &in);
  bool nop(const In &in);
  bool nanosleep(const In &in);

  // DecodeMatrix.cpp
  bool fragment(const Op &o, size_t count, ptx::Ty type, unsigned width, bool isDest);
  bool matrixAccess(const In &in, bool isStore);
  bool ldmatrix(const In &in);
  bool stmatrix(const In &in);
  bool movmatrix(const In &in);
  bool mma(const In &in);
  bool wmma(const In &in);

  friend struct DecodeTable;

  ModuleTables &tables;
  Program &program;
  Diagnostic &diagnostic;
  bool failed = false;
  Frame *frame = nullptr;
  const In *current = nullptr;
  bool first = true; // the next emitted Inst is not a micro step
  unsigned depth = 0;
  std::vector<const ptx::Function *> stack;
  std::unordered_map<uint64_t, uint32_t> constants[5]; // 8 << i bits; [0]: masks
  std::unordered_map<std::string, uint32_t> specials;
  std::unordered_map<const ptx::Variable *, uint32_t> sharedOffsets;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_DECODER_H
