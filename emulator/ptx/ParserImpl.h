//===- ParserImpl.h - The parser's state ------------------------*- C++ -*-===//
//
// Guarantees: after the first error every method returns false and the diagnostic stays. Split over Parser.cpp (module,
// declarations) and ParserBody.cpp (statements, operands).
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_PTX_PARSERIMPL_H
#define WEFT_EMULATOR_PTX_PARSERIMPL_H

#include "ptx/Lexer.h"
#include "ptx/Parser.h"

#include <unordered_map>

namespace weft::emu::ptx {

class Parser {
public:
  Parser(std::string_view text, Text &out, Diagnostic &diagnostic)
      : tokens(lex(text)), out(out), diagnostic(diagnostic) {}
  bool module();

private:
  // Tokens.
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(pos + ahead, tokens.size() - 1)]; }
  const Token &take() { return tokens[pos + 1 < tokens.size() ? pos++ : pos]; }
  bool accept(char c) { return peek().is(c) && (take(), true); }
  bool acceptDot(std::string_view word);
  bool expect(char c);
  bool expectIdent(std::string_view &name, const char *what);
  bool fail(std::string message, unsigned line = 0);
  bool unsignedValue(uint64_t &value);
  bool dims(uint32_t (&into)[3]);

  // Module scope (Parser.cpp).
  bool directive();
  bool version();
  bool target();
  bool function(bool isEntry, bool isExtern);
  bool functionAttributes(Function &f);
  bool parameterList(std::vector<Variable> &into);
  bool variable(Space space, bool isExtern, std::vector<Variable> &into, bool single);
  bool initializer(Variable &v);
  bool initializerItem(Variable &v);
  void skipLine();
  bool skipBraces();

  // Bodies (ParserBody.cpp).
  struct Name {
    enum Kind : uint8_t { RegRange, Reg, Var, Param, Return } kind;
    uint32_t index = 0; // of the register, variable; for a range, its type
    uint32_t count = 0; // of a range
    uint8_t vec = 1;
    Ty type = Ty::None;
  };
  struct Scope {
    uint32_t parent = 0;
    std::unordered_map<std::string_view, Name> names;
    std::unordered_map<std::string_view, Name> lazy; // registers of a range that were used
    std::unordered_map<std::string_view, uint32_t> labels;
    std::unordered_map<std::string_view, uint32_t> tables;
  };
  bool body(Function &f);
  bool statement();
  bool bodyDirective();
  bool registers();
  bool bodyVariable(Space space, bool isExtern);
  bool branchTargets(std::string_view label);
  bool instruction();
  bool operand(Operand &o);
  bool primary(Operand &o);
  bool number(Operand &o, bool negative);
  bool address(Operand &o);
  bool vector(Operand &o);
  bool list(Operand &o);
  bool resolveLabels();
  const Name *find(std::string_view name);
  bool isDeclaredHere(std::string_view name) const;
  std::string_view keep(std::string text);

  std::vector<Token> tokens;
  size_t pos = 0;
  Text &out;
  Diagnostic &diagnostic;
  bool failed = false;

  Function *fn = nullptr;
  std::vector<Scope> scopes;
  uint32_t scope = 0;
  unsigned depth = 0;
  struct Use {
    uint32_t inst, operand, scope;
  };
  std::vector<Use> labelUses;
  struct TableUse {
    uint32_t table, element, scope;
    std::string_view name;
    unsigned line;
  };
  std::vector<TableUse> tableUses;
};

} // namespace weft::emu::ptx

#endif // WEFT_EMULATOR_PTX_PARSERIMPL_H
