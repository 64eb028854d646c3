//===- Parser.cpp - Module scope, declarations, initial values ------------===//
//
// See Parser.h. PTX ISA chapters 4 and 5, and 11 for the directives.
//
//===----------------------------------------------------------------------===//
#include "ptx/ParserImpl.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::emu::ptx {

namespace {
struct TypeRow {
  std::string_view name;
  Ty type;
  unsigned bits;
};
constexpr TypeRow kTypes[] = {
    {"none", Ty::None, 0},      {"pred", Ty::Pred, 1},      {"b8", Ty::B8, 8},          {"b16", Ty::B16, 16},
    {"b32", Ty::B32, 32},       {"b64", Ty::B64, 64},       {"b128", Ty::B128, 128},    {"u8", Ty::U8, 8},
    {"u16", Ty::U16, 16},       {"u32", Ty::U32, 32},       {"u64", Ty::U64, 64},       {"s8", Ty::S8, 8},
    {"s16", Ty::S16, 16},       {"s32", Ty::S32, 32},       {"s64", Ty::S64, 64},       {"f16", Ty::F16, 16},
    {"f16x2", Ty::F16x2, 32},   {"bf16", Ty::BF16, 16},     {"bf16x2", Ty::BF16x2, 32}, {"tf32", Ty::TF32, 32},
    {"f32", Ty::F32, 32},       {"f32x2", Ty::F32x2, 64},   {"f64", Ty::F64, 64},       {"e4m3", Ty::E4M3, 8},
    {"e5m2", Ty::E5M2, 8},      {"e4m3x2", Ty::E4M3x2, 16}, {"e5m2x2", Ty::E5M2x2, 16}, {"e2m1x2", Ty::E2M1x2, 8},
    {"e2m3x2", Ty::E2M3x2, 16}, {"e3m2x2", Ty::E3M2x2, 16}, {"ue8m0x2", Ty::UE8M0x2, 16}};
} // namespace

unsigned bits(Ty type) { return kTypes[size_t(type)].bits; }
bool isFloat(Ty t) { return t >= Ty::F16; }
bool isSigned(Ty t) { return t >= Ty::S8 && t <= Ty::S64; }
bool isInt(Ty t) { return t >= Ty::U8 && t <= Ty::S64; }
bool isBits(Ty t) { return t >= Ty::B8 && t <= Ty::B128; }
Ty typeNamed(std::string_view name) {
  for (const TypeRow &row : kTypes)
    if (row.type != Ty::None && row.name == name)
      return row.type;
  return Ty::None;
}

bool Parser::fail(std::string message, unsigned line) {
  if (!failed) {
    failed = true;
    diagnostic = {std::move(message), line ? line : peek().line};
  }
  return false;
}

bool Parser::acceptDot(std::string_view word) {
  if (peek().kind != Token::Dot || peek().text != word)
    return false;
  take();
  return true;
}

bool Parser::expect(char c) {
  if (accept(c))
    return true;
  return fail(std::string("expected '") + c + "' before '" + std::string(peek().text) + "'");
}

bool Parser::expectIdent(std::string_view &name, const char *what) {
  if (peek().kind != Token::Ident)
    return fail(std::string("expected ") + what + " before '" + std::string(peek().text) + "'");
  name = take().text;
  return true;
}

bool Parser::unsignedValue(uint64_t &value) {
  if (peek().kind != Token::Int)
    return fail("expected an integer before '" + std::string(peek().text) + "'");
  value = take().value;
  return true;
}

bool Parser::dims(uint32_t (&into)[3]) {
  uint64_t v[3] = {1, 1, 1};
  for (int i = 0; i < 3; ++i) {
    if (!unsignedValue(v[i]))
      return false;
    if (v[i] == 0 || v[i] > 0x7fffffff)
      return fail("dimension out of range");
    into[i] = uint32_t(v[i]);
    if (!accept(','))
      break;
  }
  for (uint32_t &d : into)
    d = d ? d : 1;
  return true;
}

void Parser::skipLine() {
  unsigned line = peek().line;
  while (peek().kind != Token::End && peek().line == line)
    take();
}

bool Parser::skipBraces() {
  while (!peek().is('{'))
    if (take().kind == Token::End || peek().kind == Token::End)
      return fail("expected '{'");
  for (unsigned level = 0;;) {
    const Token &t = take();
    if (t.kind == Token::End)
      return fail("missing '}'");
    level += t.is('{');
    level -= t.is('}');
    if (level == 0)
      return true;
  }
}

bool Parser::module() {
  while (!failed && peek().kind != Token::End)
    if (!directive())
      return fail("unexpected '" + std::string(peek().text) + "' at module scope");
  if (!failed && out.version == 0)
    return fail("missing .version directive", 1);
  if (!failed && out.target == 0)
    return fail("missing .target directive", 1);
  return !failed;
}

bool Parser::directive() {
  if (accept(';'))
    return true;
  if (peek().kind != Token::Dot)
    return false;
  std::string_view word = take().text;
  if (word == "version")
    return version();
  if (out.version == 0)
    return fail("missing .version directive before ." + std::string(word));
  if (word == "target")
    return target();
  if (out.target == 0)
    return fail("missing .target directive before ." + std::string(word));
  if (word == "address_size") {
    uint64_t size;
    return unsignedValue(size) && (size == 64 || fail("only .address_size 64 is supported"));
  }
  if (word == "file" || word == "loc")
    return --pos, skipLine(), true;
  if (word == "section")
    return skipBraces();
  if (word == "pragma")
    return peek().kind == Token::String && (take(), expect(';'));
  bool isExtern = false;
  while (word == "visible" || word == "extern" || word == "weak" || word == "common") {
    isExtern |= word == "extern";
    if (peek().kind != Token::Dot)
      return false;
    word = take().text;
  }
  if (word == "entry" || word == "func")
    return function(word == "entry", isExtern);
  Space space = word == "global" ? Space::Global : word == "const" ? Space::Const : word == "shared" ? Space::Shared : Space::Generic;
  if (space == Space::Generic)
    return fail("unknown directive '." + std::string(word) + "'");
  return variable(space, isExtern, out.globals, false);
}

bool Parser::version() {
  // "7.0" reads as one decimal number, "8.10" needs its text.
  const Token &t = take();
  size_t dot = t.text.find('.');
  if (t.kind != Token::Float || dot == std::string_view::npos || dot + 2 < t.text.size() - 1 || dot > 2)
    return fail("malformed .version");
  unsigned major = 0, minor = 0;
  for (char c : t.text.substr(0, dot))
    major = major * 10 + (c - '0');
  for (char c : t.text.substr(dot + 1)) {
    if (c < '0' || c > '9')
      return fail("malformed .version");
    minor = minor * 10 + (c - '0');
  }
  if (major < 1 || major > 20)
    return fail("unsupported .version");
  out.version = major * 10 + std::min(minor, 9u);
  return true;
}

bool Parser::target() {
  do {
    std::string_view name;
    if (!expectIdent(name, "a target"))
      return false;
    if (name.substr(0, 3) != "sm_" && name.substr(0, 8) != "compute_")
      continue; // texmode_unified, debug, ...
    name.remove_prefix(name.find('_') + 1);
    unsigned sm = 0;
    while (!name.empty() && name[0] >= '0' && name[0] <= '9' && sm < 10000)
      sm = sm * 10 + (name[0] - '0'), name.remove_prefix(1);
    if (sm < 10 || sm > 999 || name.size() > 1 || (name.size() == 1 && name[0] != 'a' && name[0] != 'f'))
      return fail("unknown target");
    out.target = sm;
    out.targetSuffix = name.empty() ? 0 : name[0];
  } while (accept(','));
  return out.target != 0 || fail("unknown target");
}

bool Parser::function(bool isEntry, bool isExtern) {
  Function f;
  f.isEntry = isEntry;
  f.line = peek().line;
  while (acceptDot("attribute"))
    while (!peek().is(')') ? peek().kind != Token::End && (take(), true) : (take(), false)) {
    }
  if (!isEntry && peek().is('(') && !parameterList(f.returns))
    return false;
  std::string_view name;
  if (!expectIdent(name, "a function name"))
    return false;
  f.name = name;
  if (peek().is('(') && !parameterList(f.params))
    return false;
  if (!functionAttributes(f))
    return false;
  Function *previous = nullptr;
  for (Function &g : out.functions)
    if (g.name == f.name)
      previous = &g;
  if (previous && previous->isDefined && peek().is('{'))
    return fail("duplicate definition of function '" + f.name + "'", f.line);
  if (accept(';')) {
    if (!previous)
      out.functions.push_back(std::move(f));
    return true;
  }
  if (isExtern)
    return fail("an extern function has no body");
  if (!peek().is('{'))
    return fail("expected '{' before '" + std::string(peek().text) + "'");
  if (!previous)
    previous = &out.functions.emplace_back();
  *previous = std::move(f);
  return body(*previous);
}

bool Parser::functionAttributes(Function &f) {
  while (peek().kind == Token::Dot) {
    std::string_view word = take().text;
    uint64_t v = 0;
    if (word == "reqntid" || word == "maxntid") {
      if (!dims(word == "reqntid" ? f.reqntid : f.maxntid))
        return false;
    } else if (word == "reqnctapercluster") {
      if (!dims(f.reqnctapercluster))
        return false;
    } else if (word == "minnctapersm" || word == "maxnctapersm" || word == "maxnreg" || word == "maxclusterrank" ||
               word == "abi_preserve" || word == "abi_preserve_control") {
      if (!unsignedValue(v))
        return false;
      (word == "maxnreg" ? f.maxnreg : f.minnctapersm) = uint32_t(v);
    } else if (word == "pragma") {
      if (peek().kind != Token::String)
        return fail("expected a string");
      take();
      accept(';');
    } else if (word != "noreturn" && word != "explicitcluster" && word != "blocksareclusters" && word != "unique") {
      return fail("unknown directive '." + std::string(word) + "'");
    }
  }
  return true;
}

bool Parser::parameterList(std::vector<Variable> &into) {
  take(); // (
  if (accept(')'))
    return true;
  do {
    if (!acceptDot("param"))
      return fail("expected .param");
    if (!variable(Space::Param, false, into, true))
      return false;
  } while (accept(','));
  return expect(')');
}

/// `.align n .type name[..] = init, name2 ...;` after the state space. `single`: a parameter, without init and ';'.
bool Parser::variable(Space space, bool isExtern, std::vector<Variable> &into, bool single) {
  uint64_t align = 0;
  unsigned vec = 1;
  Ty type = Ty::None;
  while (peek().kind == Token::Dot) {
    std::string_view word = take().text;
    if (word == "align") {
      if (!unsignedValue(align))
        return false;
      if (align == 0 || align > 1024 * 1024 || !std::has_single_bit(align))
        return fail("alignment must be a power of two");
      if (type == Ty::None)
        continue;
    } else if (word == "attribute") {
      while (!peek().is(')') && peek().kind != Token::End)
        take();
      if (!expect(')'))
        return false;
    } else if (word == "v2" || word == "v4") {
      vec = word[1] - '0';
    } else if (word == "ptr") {
      while (peek().kind == Token::Dot) {
        std::string_view sub = take().text;
        if (sub == "align" && !unsignedValue(align))
          return false;
      }
      align = 0; // of the pointee
    } else if (Ty t = typeNamed(word); t != Ty::None && type == Ty::None) {
      type = t;
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      type = Ty::B64;
    } else {
      return fail("unexpected '." + std::string(word) + "'");
    }
  }
  if (type == Ty::None || type == Ty::Pred)
    return fail("expected a type");
  do {
    Variable v;
    std::string_view name;
    v.line = peek().line;
    if (!expectIdent(name, "a name"))
      return false;
    v.name = name;
    v.space = space;
    v.type = type;
    v.isExtern = isExtern;
    v.size = bits(type) / 8 * vec;
    v.align = align ? uint32_t(align) : uint32_t(v.size);
    while (accept('[')) {
      uint64_t n = 0;
      if (peek().is(']'))
        v.isUnsized = true;
      else if (!unsignedValue(n))
        return false;
      if (!expect(']'))
        return false;
      if (n > (uint64_t(1) << 40) || v.size * n > (uint64_t(1) << 40))
        return fail("variable '" + v.name + "' is too large");
      v.size *= n;
    }
    if (!single && accept('=') && !initializer(v))
      return false;
    if (!v.isUnsized && v.init.size() > v.size)
      return fail("too many initial values for '" + v.name + "'");
    if (v.isUnsized)
      v.size = v.init.size();
    into.push_back(std::move(v));
  } while (!single && accept(','));
  return single || expect(';');
}

bool Parser::initializer(Variable &v) {
  if (++depth > 64)
    return fail("initial value is nested too deeply");
  bool ok = true;
  if (accept('{')) {
    while (ok && !peek().is('}')) {
      ok = initializer(v);
      if (!accept(','))
        break;
    }
    ok = ok && expect('}');
  } else {
    ok = initializerItem(v);
  }
  --depth;
  return ok;
}

bool Parser::initializerItem(Variable &v) {
  unsigned width = bits(v.type) / 8;
  auto append = [&](uint64_t value) {
    for (unsigned i = 0; i < width; ++i)
      v.init.push_back(i < 8 ? uint8_t(value >> (8 * i)) : 0);
    return true;
  };
  if (peek().kind == Token::String) {
    std::string_view s = take().text;
    for (char c : s.substr(1, s.size() - 2))
      append(uint8_t(c));
    return append(0);
  }
  uint64_t mask = 0;
  if (peek().kind == Token::Int && peek(1).is('(')) { // mask(sym): one byte of an address
    mask = take().value;
    (void)mask;
    return fail("byte masks of addresses are not supported");
  }
  bool generic = peek().kind == Token::Ident && peek().text == "generic" && peek(1).is('(');
  if (generic)
    take(), take();
  if (peek().kind == Token::Ident) {
    Variable::Reloc r{v.init.size(), width, std::string(take().text), 0, peek().line};
    if (generic && !expect(')'))
      return false;
    while (peek().is('+') || peek().is('-')) {
      bool minus = take().is('-');
      uint64_t n;
      if (!unsignedValue(n))
        return false;
      r.addend += minus ? -int64_t(n) : int64_t(n);
    }
    if (width != 8)
      return fail("an address needs 8 bytes");
    v.relocs.push_back(std::move(r));
    return append(0);
  }
  bool negative = accept('-');
  const Token &t = take();
  if (t.kind == Token::Int)
    return append(negative ? 0 - t.value : t.value);
  double value = 0;
  if (t.kind == Token::F32Bits)
    value = std::bit_cast<float>(uint32_t(t.value));
  else if (t.kind == Token::F64Bits || t.kind == Token::Float)
    value = std::bit_cast<double>(t.value);
  else
    return fail("malformed initial value");
  if (negative)
    value = -value;
  if (v.type == Ty::F32)
    return append(t.kind == Token::F32Bits ? uint32_t(t.value) ^ (negative ? 0x80000000u : 0) : std::bit_cast<uint32_t>(float(value)));
  return append(std::bit_cast<uint64_t>(value));
}

bool parse(std::string_view text, Text &out, Diagnostic &diagnostic) { return Parser(text, out, diagnostic).module(); }

} // namespace weft::emu::ptx
