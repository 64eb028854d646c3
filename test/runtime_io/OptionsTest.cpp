// The command line of weft-run: what it accepts, and the sentence for what it does not.
#include "runtime/tools/Options.h"
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::tools;

TEST(Options, BothSpellingsOfAValue) {
  Options options;
  EXPECT_EQ(parseOptions({"m.weft", "--input", "a=b=c", "--input=x=y.npy", "--repeat=3", "--output", "out", "--check"},
                         options),
            "");
  EXPECT_EQ(options.artifact, "m.weft");
  EXPECT_EQ(options.inputs, (std::vector<std::string>{"a=b=c", "x=y.npy"}));
  EXPECT_EQ(options.repeat, 3u);
  EXPECT_TRUE(options.check);
}

TEST(Options, Shapes) {
  Options options;
  EXPECT_EQ(parseOptions({"m.weft", "--describe", "--shape", "x=1x3x640", "--shape", "a=b=7", "--shape=s="}, options),
            "");
  ASSERT_EQ(options.shapes.size(), 3u);
  EXPECT_EQ(options.shapes[0].dims, (std::vector<int64_t>{1, 3, 640}));
  EXPECT_EQ(options.shapes[1].name, "a=b");
  EXPECT_TRUE(options.shapes[2].dims.empty());
  for (const char *bad : {"x", "x=1x", "x=x1", "x=-1", "x=1y", "x=99999999999999999999"}) {
    Options other;
    EXPECT_NE(parseOptions({"m.weft", "--describe", "--shape", bad}, other), "") << bad;
  }
}

TEST(Options, Refusals) {
  auto refusal = [](std::vector<std::string> arguments) {
    Options options;
    return parseOptions(arguments, options);
  };
  EXPECT_NE(refusal({}).find("no artifact"), std::string::npos);
  EXPECT_NE(refusal({"m", "--no-such-flag"}).find("'--no-such-flag'"), std::string::npos);
  EXPECT_NE(refusal({"m", "n"}).find("two artifacts"), std::string::npos);
  EXPECT_NE(refusal({"m", "--device=abacus"}).find("abacus"), std::string::npos);
  EXPECT_NE(refusal({"m", "--input"}).find("needs a value"), std::string::npos);
  EXPECT_NE(refusal({"m", "--input", "x"}).find("NAME=FILE"), std::string::npos);
  EXPECT_NE(refusal({"m", "--check=1"}).find("takes no value"), std::string::npos);
  EXPECT_NE(refusal({"m", "--repeat=0"}).find("--repeat"), std::string::npos);
  EXPECT_NE(refusal({"m", "--json"}).find("--describe"), std::string::npos);
  EXPECT_NE(refusal({"m", "--device=cuda", "--check"}).find("needs the emulator"), std::string::npos);
  EXPECT_NE(refusal({"m", "--device=cuda", "--counters", "c"}).find("needs the emulator"), std::string::npos);
}

TEST(Options, LinesOfABatch) {
  std::vector<std::string> words;
  EXPECT_TRUE(splitLine("  m.weft --input 'a b'=\"c \\\" d\" e\\ f '' ", words));
  EXPECT_EQ(words, (std::vector<std::string>{"m.weft", "--input", "a b=c \" d", "e f", ""}));
  EXPECT_FALSE(splitLine("a 'b", words));
}
