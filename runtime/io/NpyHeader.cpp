// The header of a .npy file: see NpyHeader.h. The dictionary is a Python literal of three keys; a parser of exactly
// that much reads it.
#include "runtime/io/NpyHeader.h"
#include <algorithm>
#include <cstring>
#include <string_view>

namespace weft::npy {

namespace {
constexpr char magic[] = "\x93NUMPY";
constexpr size_t maxRank = 64; // NumPy's own limit

/// Reads a Python literal from left to right. Every function returns false where the text is something else.
class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}

  bool atEnd() {
    skipSpace();
    return at == text.size();
  }
  bool take(char wanted) {
    skipSpace();
    if (at == text.size() || text[at] != wanted)
      return false;
    ++at;
    return true;
  }
  bool word(std::string_view wanted) {
    skipSpace();
    if (text.substr(at, wanted.size()) != wanted)
      return false;
    at += wanted.size();
    return true;
  }
  bool quoted(std::string &out) {
    skipSpace();
    if (at == text.size() || (text[at] != '\'' && text[at] != '"'))
      return false;
    size_t end = text.find(text[at], at + 1);
    if (end == std::string_view::npos)
      return false;
    out = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return out.find('\\') == std::string::npos;
  }
  bool number(int64_t &out) {
    skipSpace();
    size_t begin = at;
    for (out = 0; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      if (__builtin_mul_overflow(out, int64_t(10), &out) || __builtin_add_overflow(out, int64_t(text[at] - '0'), &out))
        return false;
    if (at == begin)
      return false;
    if (at < text.size() && text[at] == 'L') // Python 2
      ++at;
    return true;
  }

private:
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r')))
      ++at;
  }
  std::string_view text;
  size_t at = 0;
};

bool parseShape(Scanner &scanner, std::vector<int64_t> &shape) {
  shape.clear();
  if (!scanner.take('('))
    return false;
  while (!scanner.take(')')) {
    int64_t dim;
    if (shape.size() == maxRank || !scanner.number(dim))
      return false;
    shape.push_back(dim);
    if (scanner.take(','))
      continue;
    return scanner.take(')');
  }
  return true;
}

Status parseDictionary(std::string_view text, Header &out) {
  auto bad = [](const std::string &why) { return Status::invalid("the .npy header " + why); };
  Scanner scanner(text);
  if (!scanner.take('{'))
    return bad("is not a dictionary");
  bool descr = false, order = false, shape = false;
  while (!scanner.take('}')) {
    std::string key;
    if (!scanner.quoted(key) || !scanner.take(':'))
      return bad("is malformed");
    if (key == "descr") {
      if (!scanner.quoted(out.descr))
        return bad("has a structured type ('descr' is not a string); only plain arrays are read");
      descr = true;
    } else if (key == "fortran_order") {
      out.fortranOrder = scanner.word("True");
      if (!out.fortranOrder && !scanner.word("False"))
        return bad("has a 'fortran_order' that is neither True nor False");
      order = true;
    } else if (key == "shape") {
      if (!parseShape(scanner, out.shape))
        return bad("has a malformed 'shape': expected a tuple of at most 64 whole numbers, none negative");
      shape = true;
    } else {
      return bad("has an unknown key '" + key.substr(0, 32) + "'");
    }
    if (scanner.take(','))
      continue;
    if (!scanner.take('}'))
      return bad("is malformed");
    break;
  }
  if (!scanner.atEnd())
    return bad("has text after the dictionary");
  if (!descr || !order || !shape)
    return bad(std::string("lacks the key '") + (!descr ? "descr" : !order ? "fortran_order" : "shape") + "'");
  return Status::success();
}
} // namespace

Status parseHeader(std::span<const uint8_t> file, Header &out) {
  constexpr size_t magicSize = sizeof magic - 1;
  if (file.size() < magicSize + 4 || std::memcmp(file.data(), magic, magicSize))
    return Status::invalid("it is not a .npy file (the first bytes differ)");
  uint8_t version = file[magicSize];
  if (version < 1 || version > 3 || file[magicSize + 1] != 0)
    return Status::invalid(".npy version " + std::to_string(version) + "." + std::to_string(file[magicSize + 1]) +
                           " is unknown; versions 1.0, 2.0 and 3.0 are read");
  size_t lengthBytes = version == 1 ? 2 : 4, start = magicSize + 2 + lengthBytes, length = 0;
  if (file.size() < start)
    return Status::invalid("the .npy header is cut off");
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= size_t(file[magicSize + 2 + i]) << 8 * i;
  if (length > file.size() - start)
    return Status::invalid("the .npy header is cut off: it has " + std::to_string(length) + " bytes, the file holds " +
                           std::to_string(file.size() - start));
  out.dataOffset = start + length;
  return parseDictionary({reinterpret_cast<const char *>(file.data()) + start, length}, out);
}

Status encodeHeader(const std::string &descr, const std::vector<int64_t> &shape, std::vector<uint8_t> &file) {
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  constexpr size_t before = sizeof magic - 1 + 4, alignment = 64;
  size_t total = (before + text.size() + 1 + alignment - 1) / alignment * alignment;
  if (total - before > 0xFFFF)
    return Status::invalid("a shape of rank " + std::to_string(shape.size()) + " does not fit a .npy header");
  text.resize(total - before - 1, ' ');
  text += '\n';
  file.assign(magic, magic + sizeof magic - 1);
  file.push_back(1);
  file.push_back(0);
  file.push_back(uint8_t(text.size()));
  file.push_back(uint8_t(text.size() >> 8));
  file.insert(file.end(), text.begin(), text.end());
  return Status::success();
}

Status parseType(const std::string &descr, Type &out) {
  // ml_dtypes: the names, and bytes per element.
  static constexpr std::pair<std::string_view, unsigned> named[] = {{"bfloat16", 2},
                                                                    {"float8_e4m3fn", 1},
                                                                    {"float8_e4m3fnuz", 1},
                                                                    {"float8_e5m2", 1},
                                                                    {"float8_e5m2fnuz", 1},
                                                                    {"float8_e8m0fnu", 1},
                                                                    {"float4_e2m1fn", 1},
                                                                    {"int4", 1},
                                                                    {"uint4", 1},
                                                                    {"int2", 1},
                                                                    {"uint2", 1}};
  for (auto [name, size] : named)
    if (descr == name) {
      out = {'V', size, false, descr};
      return Status::success();
    }
  out = {};
  std::string_view rest = descr;
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
    out.bigEndian = rest[0] == '>';
    rest.remove_prefix(1);
  }
  bool good =
      rest.size() >= 2 && rest.size() <= 10 && std::string_view("biufcVUS").find(rest[0]) != std::string_view::npos;
  if (good) {
    out.kind = rest[0];
    for (char digit : rest.substr(1)) {
      good = good && digit >= '0' && digit <= '9';
      out.size = out.size * 10 + uint64_t(digit - '0');
    }
  }
  if (rest == "O" || rest == "|O")
    return Status::invalid("it holds Python objects (pickle), which are never read; strings are '<U' arrays");
  if (!good)
    return Status::invalid("the .npy type '" + descr.substr(0, 32) + "' is unknown");
  if (out.kind == 'U')
    out.size *= 4;
  return Status::success();
}

} // namespace weft::npy
