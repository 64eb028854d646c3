//===- Parser.h - PTX text to syntax tree -----------------------*- C++ -*-===//
//
// Guarantees: returns false with a diagnostic on any text outside the grammar; time and memory are linear in the text.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_PTX_PARSER_H
#define WEFT_EMULATOR_PTX_PARSER_H

#include "exec/Core.h"
#include "ptx/Ast.h"

namespace weft::emu::ptx {

/// `text` must outlive `out`, whose string views point into it.
bool parse(std::string_view text, Text &out, Diagnostic &diagnostic);

} // namespace weft::emu::ptx

#endif // WEFT_EMULATOR_PTX_PARSER_H
