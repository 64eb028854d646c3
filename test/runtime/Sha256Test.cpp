// SHA-256 against the vectors of FIPS 180-4 and NIST's examples.
#include "runtime/artifact/Sha256.h"
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace weft::artifact;

static std::string hex(const Digest &digest) {
  std::string text;
  for (uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}
static std::string of(const std::string &text) { return hex(sha256({reinterpret_cast<const uint8_t *>(text.data()), text.size()})); }

TEST(Sha256Test, knownAnswers) {
  EXPECT_EQ(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, piecesGiveTheSame) {
  std::vector<uint8_t> bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(i * 7);
  for (size_t piece : {1, 3, 55, 56, 63, 64, 65, 127, 999}) {
    Sha256 hash;
    for (size_t at = 0; at < bytes.size(); at += piece)
      hash.update(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    EXPECT_EQ(hash.finish(), sha256(bytes)) << piece;
  }
}
