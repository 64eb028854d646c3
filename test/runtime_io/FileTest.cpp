// Whole files: replacing is all or nothing, and errors carry the code that the command line exits with.
#include "runtime/io/File.h"
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

using namespace weft;
namespace fs = std::filesystem;

struct FileTest : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("weft-file-test-" + std::to_string(::getpid()));
  FileTest() { fs::create_directories(folder); }
  ~FileTest() override { fs::remove_all(folder); }
  std::string read(const fs::path &path) {
    std::vector<uint8_t> bytes;
    EXPECT_TRUE(readFile(path, bytes).ok());
    return {bytes.begin(), bytes.end()};
  }
};

TEST_F(FileTest, WritesReplacesAndLeavesNothingElse) {
  fs::path path = folder / "f";
  ASSERT_TRUE(writeFile(path, std::string("first")).ok());
  ASSERT_TRUE(writeFile(path, std::string("second")).ok());
  EXPECT_EQ(read(path), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(FileTest, AFailedWriteLeavesNothing) {
  fs::create_directories(folder / "target");
  Status status = writeFile(folder / "target", std::string("x")); // a folder stands in the way of the rename
  EXPECT_EQ(status.code, Code::machine);
  EXPECT_NE(status.message.find("target"), std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(FileTest, MakesFolders) {
  EXPECT_TRUE(makeFolders(folder / "a" / "b" / "c").ok());
  EXPECT_TRUE(makeFolders(folder.string() + "/a//b/d/").ok());
  EXPECT_TRUE(fs::is_directory(folder / "a/b/d"));
  ASSERT_TRUE(writeFile(folder / "file", std::string()).ok());
  EXPECT_EQ(makeFolders(folder / "file").code, Code::machine);
  EXPECT_EQ(makeFolders("/proc/none/out").code, Code::machine);
}

TEST_F(FileTest, ReadingWhatIsNotThere) {
  std::vector<uint8_t> bytes;
  EXPECT_EQ(readFile(folder / "none", bytes).code, Code::invalid);
  EXPECT_EQ(readFile(folder, bytes).code, Code::invalid);
}
