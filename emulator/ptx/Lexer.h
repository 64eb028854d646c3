//===- Lexer.h - PTX tokens -------------------------------------*- C++ -*-===//
//
// Guarantees: never fails; an unknown character becomes an Error token. `.word`, `.a::b` are one Dot token without its dot.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_PTX_LEXER_H
#define WEFT_EMULATOR_PTX_LEXER_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::emu::ptx {

struct Token {
  enum Kind : uint8_t { End, Error, Ident, Dot, Int, Float, F32Bits, F64Bits, String, Punct } kind = End;
  char punct = 0;
  bool spaceBefore = false;
  unsigned line = 0;
  uint64_t value = 0; // Int; bits of Float (as double), F32Bits, F64Bits
  std::string_view text;
  bool is(char c) const { return kind == Punct && punct == c; }
};

std::vector<Token> lex(std::string_view text);

} // namespace weft::emu::ptx

#endif // WEFT_EMULATOR_PTX_LEXER_H
