//===- ParserBody.cpp - Function bodies: statements and operands ----------===//
//
// See Parser.h. Registers of a range `%r<100>` exist from their first use on, so a huge range costs nothing. Labels
// belong to the scope they stand in and are looked up outwards.
//
//===----------------------------------------------------------------------===//
#include "ptx/ParserImpl.h"

#include <bit>

namespace weft::emu::ptx {

bool Parser::body(Function &f) {
  fn = &f;
  scopes.assign(1, Scope());
  scope = 0;
  labelUses.clear();
  tableUses.clear();
  f.isDefined = true;
  for (uint32_t i = 0; i < f.params.size(); ++i)
    scopes[0].names[f.params[i].name] = {Name::Param, i, 0, 1, f.params[i].type};
  for (uint32_t i = 0; i < f.returns.size(); ++i)
    scopes[0].names[f.returns[i].name] = {Name::Return, i, 0, 1, f.returns[i].type};
  take(); // {
  unsigned level = 1;
  while (level > 0) {
    if (failed)
      return false;
    if (peek().kind == Token::End)
      return fail("missing '}' at the end of function '" + f.name + "'");
    if (accept('{')) {
      if (++level > 256)
        return fail("scopes are nested too deeply");
      scopes.emplace_back().parent = scope;
      scope = uint32_t(scopes.size() - 1);
    } else if (accept('}')) {
      --level;
      scope = scopes[scope].parent;
    } else if (!statement()) {
      return fail("malformed statement");
    }
  }
  return resolveLabels();
}

bool Parser::statement() {
  if (accept(';'))
    return true;
  if (peek().kind == Token::Ident && peek(1).is(':')) {
    std::string_view label = take().text;
    take();
    if (peek().kind == Token::Dot && (peek().text == "branchtargets" || peek().text == "calltargets"))
      return branchTargets(label);
    if (peek().kind == Token::Dot && peek().text == "callprototype") {
      while (!peek().is(';') && peek().kind != Token::End)
        take();
      return expect(';');
    }
    if (!scopes[scope].labels.emplace(label, uint32_t(fn->body.size())).second)
      return fail("duplicate label '" + std::string(label) + "'");
    return true;
  }
  if (peek().kind == Token::Dot)
    return bodyDirective();
  return instruction();
}

bool Parser::bodyDirective() {
  std::string_view word = take().text;
  if (word == "loc" || word == "file")
    return --pos, skipLine(), true;
  if (word == "section")
    return skipBraces();
  if (word == "pragma")
    return peek().kind == Token::String && (take(), expect(';'));
  if (word == "reg")
    return registers();
  if (word == "extern")
    return acceptDot("shared") && bodyVariable(Space::Shared, true);
  Space space = word == "shared" ? Space::Shared : word == "local" ? Space::Local : word == "param" ? Space::Param
                : word == "const" ? Space::Const : word == "global" ? Space::Global : Space::Generic;
  if (space == Space::Generic)
    return fail("unknown directive '." + std::string(word) + "'");
  return bodyVariable(space, false);
}

bool Parser::isDeclaredHere(std::string_view name) const { return scopes[scope].names.count(name) != 0; }

bool Parser::registers() {
  uint8_t vec = 1;
  Ty type = Ty::None;
  while (peek().kind == Token::Dot) {
    std::string_view word = take().text;
    if (word == "v2" || word == "v4")
      vec = uint8_t(word[1] - '0');
    else if (type == Ty::None)
      type = typeNamed(word);
    if (type == Ty::None && word[0] != 'v' && word != "align")
      return fail("unknown register type '." + std::string(word) + "'");
  }
  if (type == Ty::None || (type > Ty::F16 && type != Ty::F16x2 && type != Ty::F32 && type != Ty::F64))
    return fail("registers cannot have this type");
  if (vec != 1)
    return fail("vector registers are not supported");
  do {
    std::string_view name;
    if (!expectIdent(name, "a register name"))
      return false;
    Name n{Name::Reg, 0, 0, vec, type};
    if (accept('<')) {
      uint64_t count;
      if (!unsignedValue(count) || !expect('>'))
        return false;
      n.kind = Name::RegRange;
      n.count = uint32_t(std::min<uint64_t>(count, 0xffffffff));
    } else {
      n.index = uint32_t(fn->regs.size());
      fn->regs.push_back({std::string(name), type, vec});
    }
    if (isDeclaredHere(name))
      return fail("duplicate declaration of '" + std::string(name) + "'");
    scopes[scope].names[name] = n;
  } while (accept(','));
  return expect(';');
}

bool Parser::bodyVariable(Space space, bool isExtern) {
  std::vector<Variable> found;
  bool toModule = space == Space::Global || space == Space::Const;
  size_t nameToken = pos;
  if (!variable(space, isExtern, found, false))
    return false;
  for (Variable &v : found) {
    // The text view of the name must outlive `found`: look it up among the tokens.
    std::string_view view;
    for (size_t i = nameToken; i < pos && view.empty(); ++i)
      if (tokens[i].kind == Token::Ident && tokens[i].text == v.name)
        view = tokens[i].text;
    if (isDeclaredHere(view))
      return fail("duplicate declaration of '" + v.name + "'");
    if (toModule) {
      out.globals.push_back(std::move(v));
      continue;
    }
    scopes[scope].names[view] = {Name::Var, uint32_t(fn->vars.size()), 0, 1, v.type};
    fn->vars.push_back(std::move(v));
  }
  return true;
}

bool Parser::branchTargets(std::string_view label) {
  take(); // .branchtargets
  uint32_t table = uint32_t(fn->branchTables.size());
  fn->branchTables.emplace_back();
  scopes[scope].tables[label] = table;
  do {
    std::string_view name;
    unsigned line = peek().line;
    if (!expectIdent(name, "a label"))
      return false;
    tableUses.push_back({table, uint32_t(fn->branchTables[table].size()), scope, name, line});
    fn->branchTables[table].push_back(0);
  } while (accept(','));
  return expect(';');
}

const Parser::Name *Parser::find(std::string_view name) {
  for (uint32_t s = scope;; s = scopes[s].parent) {
    if (auto it = scopes[s].names.find(name); it != scopes[s].names.end() && it->second.kind != Name::RegRange)
      return &it->second;
    if (auto it = scopes[s].lazy.find(name); it != scopes[s].lazy.end())
      return &it->second;
    size_t stem = name.size();
    while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9')
      --stem;
    size_t digits = name.size() - stem;
    // A range may itself end in digits: try every split without leading zeros.
    for (size_t cut = stem; digits && digits < 11 && cut < name.size(); ++cut) {
      if (name[cut] == '0' && cut + 1 < name.size())
        continue;
      auto it = scopes[s].names.find(name.substr(0, cut));
      if (it == scopes[s].names.end() || it->second.kind != Name::RegRange)
        continue;
      uint64_t n = 0;
      for (char c : name.substr(cut))
        n = n * 10 + (c - '0');
      if (n >= it->second.count)
        continue;
      Name reg{Name::Reg, uint32_t(fn->regs.size()), 0, 1, it->second.type};
      fn->regs.push_back({std::string(name), reg.type, 1});
      return &(scopes[s].lazy[name] = reg);
    }
    if (s == 0)
      return nullptr;
  }
}

bool Parser::instruction() {
  Instruction inst;
  inst.line = peek().line;
  if (accept('@')) {
    inst.guardNegated = accept('!');
    std::string_view name;
    if (!expectIdent(name, "a predicate"))
      return false;
    const Name *n = find(name);
    if (!n || n->kind != Name::Reg || n->type != Ty::Pred)
      return fail("'" + std::string(name) + "' is not a predicate register");
    inst.guard = int32_t(n->index);
  }
  if (!expectIdent(inst.op, "an instruction"))
    return false;
  while (peek().kind == Token::Dot)
    inst.mods.push_back(take().text);
  uint32_t index = uint32_t(fn->body.size());
  while (!peek().is(';')) {
    if (inst.operands.size() >= 64)
      return fail("too many operands");
    Operand &o = inst.operands.emplace_back();
    if (!operand(o))
      return fail("malformed operand of '" + std::string(inst.op) + "'");
    if (o.kind == Operand::Symbol && o.names == Operand::Names::Module)
      labelUses.push_back({index, uint32_t(inst.operands.size() - 1), scope});
    if (!accept(','))
      break;
  }
  if (!expect(';'))
    return false;
  if (fn->body.size() >= (1u << 22))
    return fail("function is too long");
  fn->body.push_back(std::move(inst));
  return true;
}

bool Parser::operand(Operand &o) {
  if (accept('(')) {
    o.kind = Operand::List;
    if (depth > 16)
      return fail("operands are nested too deeply");
    ++depth;
    struct Leave {
      unsigned &d;
      ~Leave() { --d; }
    } leave{depth};
    while (!peek().is(')')) {
      if (o.elements.size() > 4096 || !operand(o.elements.emplace_back()))
        return fail("malformed argument list");
      if (!accept(','))
        break;
    }
    return expect(')');
  }
  if (accept('!')) {
    o.negated = true;
    if (!primary(o))
      return false;
    o.negated = true;
    return o.kind == Operand::Reg || fail("'!' needs a predicate register");
  }
  if (!primary(o))
    return false;
  if (accept('|')) {
    Operand second;
    if (!primary(second))
      return false;
    o.isPair = true;
    o.elements.push_back(std::move(second));
  }
  return true;
}

bool Parser::primary(Operand &o) {
  if (++depth > 32)
    return fail("operands are nested too deeply");
  struct Leave {
    unsigned &d;
    ~Leave() { --d; }
  } leave{depth};
  if (accept('['))
    return address(o);
  if (accept('{'))
    return vector(o);
  if (accept('-'))
    return number(o, true);
  if (accept('+') || peek().kind != Token::Ident)
    return number(o, false);
  std::string_view name = take().text;
  if (name == "_")
    return o.kind = Operand::Sink, true;
  o.symbol = name;
  if (const Name *n = find(name)) {
    o.index = o.reg = n->index;
    o.hasReg = n->kind == Name::Reg;
    o.kind = o.hasReg ? Operand::Reg : Operand::Symbol;
    o.names = n->kind == Name::Var ? Operand::Names::Var : n->kind == Name::Param ? Operand::Names::Param : Operand::Names::Return;
  } else if (name[0] == '%') {
    o.kind = Operand::Special;
    if (peek().kind == Token::Dot && !peek().spaceBefore && peek().text.size() == 1)
      o.imm = uint64_t(take().text[0]);
    return true;
  } else if (name == "WARP_SZ") {
    o.kind = Operand::Imm;
    o.imm = 32;
    return true;
  } else {
    o.kind = Operand::Symbol;
    o.names = Operand::Names::Module;
  }
  if (o.kind == Operand::Symbol)
    while ((peek().is('+') || peek().is('-')) && peek(1).kind == Token::Int) {
      bool minus = take().is('-');
      uint64_t v = take().value;
      o.imm += minus ? 0 - v : v;
    }
  return true;
}

bool Parser::number(Operand &o, bool negative) {
  const Token &t = peek();
  o.kind = Operand::Imm;
  switch (t.kind) {
  case Token::Int:
    o.imm = negative ? 0 - t.value : t.value;
    break;
  case Token::F32Bits:
    o.isFloatImm = o.isF32Bits = true;
    o.imm = t.value ^ (negative ? 0x80000000u : 0);
    break;
  case Token::F64Bits:
  case Token::Float:
    o.isFloatImm = true;
    o.imm = t.value ^ (negative ? uint64_t(1) << 63 : 0);
    break;
  default:
    return fail("malformed operand '" + std::string(t.text) + "'");
  }
  take();
  return true;
}

bool Parser::address(Operand &o) {
  Operand base;
  if (!primary(base))
    return false;
  if (base.kind != Operand::Reg && base.kind != Operand::Symbol && base.kind != Operand::Imm)
    return fail("malformed address");
  bool isImm = base.kind == Operand::Imm;
  o = base;
  o.kind = Operand::Address;
  if (o.hasReg)
    o.symbol = {};
  if (isImm && base.isFloatImm)
    return fail("malformed address");
  while (peek().is('+') || peek().is('-')) {
    bool minus = take().is('-');
    if (peek().is('-'))
      take(), minus = !minus;
    uint64_t v;
    if (!unsignedValue(v))
      return false;
    o.imm += minus ? 0 - v : v;
  }
  if (accept(',')) { // tensor coordinates, or a second address part
    do {
      if (!operand(o.elements.emplace_back()))
        return false;
    } while (accept(','));
  }
  return expect(']');
}

bool Parser::vector(Operand &o) {
  o.kind = Operand::Vector;
  while (!peek().is('}')) {
    if (o.elements.size() >= 512 || !primary(o.elements.emplace_back()))
      return fail("malformed vector");
    if (!accept(','))
      break;
  }
  return expect('}');
}

bool Parser::resolveLabels() {
  auto lookup = [&](std::string_view name, uint32_t s, uint32_t &target, bool table) {
    for (;; s = scopes[s].parent) {
      auto &map = table ? scopes[s].tables : scopes[s].labels;
      if (auto it = map.find(name); it != map.end())
        return target = it->second, true;
      if (s == 0)
        return false;
    }
  };
  for (const Use &use : labelUses) {
    Operand &o = fn->body[use.inst].operands[use.operand];
    uint32_t target;
    if (lookup(o.symbol, use.scope, target, false)) {
      o.kind = Operand::Label;
      o.target = target;
    } else if (lookup(o.symbol, use.scope, target, true)) {
      o.index = target;
    } else if (fn->body[use.inst].op == "bra") {
      return fail("unknown label '" + std::string(o.symbol) + "'", fn->body[use.inst].line);
    }
  }
  for (const TableUse &use : tableUses) {
    uint32_t target;
    if (!lookup(use.name, use.scope, target, false))
      return fail("unknown label '" + std::string(use.name) + "'", use.line);
    fn->branchTables[use.table][use.element] = target;
  }
  return true;
}

} // namespace weft::emu::ptx
