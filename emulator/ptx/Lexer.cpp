//===- Lexer.cpp - PTX tokens ---------------------------------------------===//
//
// See Lexer.h. Numbers follow PTX ISA 4.5: decimal, 0x, 0b, octal, suffix U, 0f/0d bit patterns, decimal floats.
//
//===----------------------------------------------------------------------===//
#include "ptx/Lexer.h"

#include <bit>
#include <charconv>

namespace weft::emu::ptx {
namespace {

bool isWord(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isIdentStart(char c) { return (isWord(c) && !isDigit(c)) || c == '%'; }

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  std::vector<Token> run() {
    while (skipBlanks())
      next();
    Token end;
    end.line = line;
    tokens.push_back(end);
    return std::move(tokens);
  }

private:
  char peek(size_t ahead = 0) const { return pos + ahead < text.size() ? text[pos + ahead] : '\0'; }

  bool skipBlanks() {
    blank = false;
    while (pos < text.size()) {
      char c = text[pos];
      if (c == '\n') {
        ++line;
        ++pos;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++pos;
      } else if (c == '/' && peek(1) == '/') {
        while (pos < text.size() && text[pos] != '\n')
          ++pos;
      } else if (c == '/' && peek(1) == '*') {
        pos += 2;
        while (pos < text.size() && !(text[pos] == '*' && peek(1) == '/'))
          line += text[pos++] == '\n';
        pos = pos + 2 < text.size() ? pos + 2 : text.size();
      } else if (c == '\0') {
        ++pos; // images are often NUL-terminated
      } else {
        return true;
      }
      blank = true;
    }
    return false;
  }

  void push(Token::Kind kind, size_t begin, uint64_t value = 0) {
    Token t;
    t.kind = kind;
    t.line = line;
    t.value = value;
    t.text = text.substr(begin, pos - begin);
    t.spaceBefore = blank;
    tokens.push_back(t);
  }

  void next() {
    char c = peek();
    size_t begin = pos;
    if (isIdentStart(c)) {
      ++pos;
      while (isWord(peek()))
        ++pos;
      return push(Token::Ident, begin);
    }
    if (isDigit(c) || (c == '.' && isDigit(peek(1)) && !prevIsWord()))
      return number();
    if (c == '.' && isWord(peek(1)))
      return dotWord();
    if (c == '"') {
      for (++pos; pos < text.size() && text[pos] != '"'; ++pos) {
        line += text[pos] == '\n';
        pos += text[pos] == '\\' && pos + 1 < text.size();
      }
      pos = pos < text.size() ? pos + 1 : pos;
      return push(Token::String, begin);
    }
    ++pos;
    constexpr std::string_view known = "()[]{}<>,;:+-*/!|@=&~^%?.";
    push(known.find(c) == std::string_view::npos ? Token::Error : Token::Punct, begin);
    tokens.back().punct = c;
  }

  bool prevIsWord() const { return pos > 0 && isWord(text[pos - 1]); }

  void dotWord() {
    size_t begin = ++pos;
    while (isWord(peek()) || (peek() == ':' && peek(1) == ':' && isWord(peek(2))))
      pos += peek() == ':' ? 2 : 1;
    push(Token::Dot, begin);
  }

  void number() {
    size_t begin = pos;
    char second = peek(1);
    if (peek() == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D'))
      return bitPattern(begin, second == 'f' || second == 'F' ? 8 : 16);
    unsigned base = 10;
    if (peek() == '0' && (second == 'x' || second == 'X'))
      base = 16, pos += 2;
    else if (peek() == '0' && (second == 'b' || second == 'B'))
      base = 2, pos += 2;
    else if (isFloatAhead())
      return decimalFloat(begin);
    else if (peek() == '0' && isDigit(second))
      base = 8;
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data() + pos, text.data() + text.size(), value, base);
    pos = end - text.data();
    bool ok = error == std::errc();
    if (peek() == 'U')
      ++pos;
    if (isWord(peek()))
      ok = false;
    while (isWord(peek()))
      ++pos;
    push(ok ? Token::Int : Token::Error, begin, value);
  }

  bool isFloatAhead() const {
    size_t p = pos;
    while (p < text.size() && isDigit(text[p]))
      ++p;
    if (p >= text.size())
      return false;
    if (text[p] == '.')
      return p + 1 < text.size() && isDigit(text[p + 1]);
    return text[p] == 'e' || text[p] == 'E';
  }

  void decimalFloat(size_t begin) {
    double value = 0;
    auto [end, error] = std::from_chars(text.data() + pos, text.data() + text.size(), value);
    pos = end - text.data();
    push(error == std::errc() ? Token::Float : Token::Error, begin, std::bit_cast<uint64_t>(value));
  }

  void bitPattern(size_t begin, size_t digits) {
    pos += 2;
    uint64_t value = 0;
    size_t limit = pos + digits < text.size() ? pos + digits : text.size();
    auto [end, error] = std::from_chars(text.data() + pos, text.data() + limit, value, 16);
    bool ok = error == std::errc() && size_t(end - text.data()) == pos + digits;
    pos = end - text.data();
    push(!ok ? Token::Error : digits == 8 ? Token::F32Bits : Token::F64Bits, begin, value);
  }

  std::string_view text;
  size_t pos = 0;
  unsigned line = 1;
  bool blank = false;
  std::vector<Token> tokens;
};

} // namespace

std::vector<Token> lex(std::string_view text) { return Lexer(text).run(); }

} // namespace weft::emu::ptx
