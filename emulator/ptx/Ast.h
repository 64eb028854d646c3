//===- Ast.h - PTX as parsed ------------------------------------*- C++ -*-===//
//
// Guarantees: names are resolved: a register operand is an index into Function::regs, a label an index into the body,
// nested scopes are gone. Opcode, modifiers and operand kinds are as written; their meaning is the decoder's business.
// String views point into the text that was parsed.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_PTX_AST_H
#define WEFT_EMULATOR_PTX_AST_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft::emu::ptx {

enum class Ty : uint8_t {
  None, Pred, B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64,
  F16, F16x2, BF16, BF16x2, TF32, F32, F32x2, F64, E4M3, E5M2, E4M3x2, E5M2x2, E2M1x2, E2M3x2, E3M2x2, UE8M0x2
};
/// Bits of one element as registers hold it: 32 for F16x2.
unsigned bits(Ty type);
bool isFloat(Ty type);
bool isSigned(Ty type);
bool isInt(Ty type);  // U or S
bool isBits(Ty type); // B
/// Type of `.f32`, given without the dot; None if it is not a type.
Ty typeNamed(std::string_view name);

enum class Space : uint8_t { Generic, Reg, Global, Const, Shared, Local, Param };

struct Operand {
  enum Kind : uint8_t { None, Reg, Special, Imm, Symbol, Label, Address, Vector, Sink, List };
  Kind kind = None;
  bool negated = false;    // !p
  bool isFloatImm = false; // imm holds the bits of a double (0d, decimals) unless isF32Bits
  bool isF32Bits = false;  // 0f...
  uint32_t reg = 0;        // Reg, and the base of Address where symbol is empty and hasReg
  bool hasReg = false;
  uint64_t imm = 0;        // Imm; the offset of Address and Symbol
  std::string_view symbol; // Symbol, Special (without %), Label (until resolved), base of Address
  uint32_t target = 0;     // Label: index into the body
  std::vector<Operand> elements; // Vector, List; the second half of a|b; coordinates of a tensor address
  bool isPair = false;           // a|b: elements[0] is b
  enum class Names : uint8_t { Module, Var, Param, Return } names = Names::Module;
  uint32_t index = 0; // into Function::vars, params or returns, as `names` says
};

struct Instruction {
  unsigned line = 0;
  std::string_view op;                 // base opcode
  std::vector<std::string_view> mods;  // without dots
  int32_t guard = -1;                  // register, -1 where there is none
  bool guardNegated = false;
  std::vector<Operand> operands;
};

struct Register {
  std::string name;
  Ty type = Ty::None;
  uint8_t vec = 1;
};

/// A variable: module scope, body scope, or parameter.
struct Variable {
  std::string name;
  Space space = Space::Global;
  Ty type = Ty::B8;
  uint32_t align = 1;
  uint64_t size = 0; // bytes; 0 for an unsized array
  bool isExtern = false, isUnsized = false;
  std::vector<uint8_t> init;
  struct Reloc {
    uint64_t offset;
    uint32_t size;
    std::string symbol;
    int64_t addend;
    unsigned line;
  };
  std::vector<Reloc> relocs;
  unsigned line = 0;
};

struct Function {
  std::string name;
  unsigned line = 0;
  bool isEntry = false, isDefined = false;
  std::vector<Variable> params, returns;
  std::vector<Register> regs;
  std::vector<Variable> vars; // .local, .shared and .param variables of the body; names made unique by scope
  std::vector<Instruction> body;
  std::vector<std::vector<uint32_t>> branchTables; // .branchtargets
  uint32_t reqntid[3] = {0, 0, 0}, maxntid[3] = {0, 0, 0}, reqnctapercluster[3] = {0, 0, 0};
  uint32_t minnctapersm = 0, maxnreg = 0;
};

struct Text {
  unsigned version = 0, target = 0;
  char targetSuffix = 0; // 'a', 'f' or 0
  std::vector<Variable> globals; // .global, .const, .shared, .extern .shared
  std::vector<Function> functions;
};

} // namespace weft::emu::ptx

#endif // WEFT_EMULATOR_PTX_AST_H
