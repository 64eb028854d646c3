// The C API: a run from load to result, and calls that are wrong.
#include "runtime/weft_runtime.h"
#include "test/runtime/Fixture.h"

using namespace weft;
using namespace weft::test;

namespace {
/// Frees a status and gives its code and message.
struct Outcome {
  explicit Outcome(weft_status *status) : code(weft_status_code(status)), message(weft_status_message(status)) { weft_status_free(status); }
  int code;
  std::string message;
};
} // namespace

TEST(CApiTest, runs) {
  useEmulator();
  TempDir dir;
  PlanBuilder b;
  buildAdd(b);
  ASSERT_TRUE(b.write(dir.file("add.weft")).ok());
  EXPECT_EQ(weft_runtime_abi_version(), uint32_t(WEFT_RUNTIME_ABI_VERSION));
  weft_device_options options = {};
  options.size = sizeof options;
  options.kind = WEFT_DEVICE_EMULATOR;
  std::string said;
  options.log = [](void *data, const char *message) { *static_cast<std::string *>(data) = message; };
  options.log_data = &said;
  weft_model *model = nullptr;
  ASSERT_EQ(Outcome(weft_model_load(dir.file("add.weft").c_str(), &options, &model)).message, "");
  EXPECT_NE(said.find("image sm_80 PTX"), std::string::npos) << said;

  ASSERT_EQ(weft_model_input_count(model), 2u);
  ASSERT_EQ(weft_model_output_count(model), 1u);
  weft_tensor_info info;
  ASSERT_EQ(Outcome(weft_model_input(model, 1, &info)).code, WEFT_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_EQ(info.type, 1);
  ASSERT_EQ(info.rank, 1u);
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_STREQ(info.dim_names[0], "n");

  int64_t n = 3, dims[2];
  weft_shape shapes[2] = {{1, &n}, {1, &n}};
  size_t rank = 2;
  ASSERT_EQ(Outcome(weft_model_output_shape(model, shapes, 2, 0, dims, &rank)).message, "");
  EXPECT_EQ(rank, 1u);
  EXPECT_EQ(dims[0], 3);
  uint64_t bytes = 1;
  ASSERT_EQ(Outcome(weft_model_arena_bytes(model, shapes, 2, &bytes)).message, "");
  EXPECT_EQ(bytes, 0u);

  weft_session *session = nullptr;
  ASSERT_EQ(Outcome(weft_session_create(model, &session)).code, WEFT_OK);
  weft_model_free(model); // the session keeps what it needs
  float x[] = {1, 2, 3}, y[] = {10, 20, 30};
  weft_host_tensor inputs[2] = {{x, 12, {1, &n}}, {y, 12, {1, &n}}};
  ASSERT_EQ(Outcome(weft_session_run(session, inputs, 2)).message, "");
  weft_host_tensor result;
  ASSERT_EQ(Outcome(weft_session_result(session, 0, &result)).code, WEFT_OK);
  ASSERT_EQ(result.bytes, 12u);
  EXPECT_EQ(static_cast<const float *>(result.data)[2], 33);

  inputs[1].bytes = 8;
  Outcome wrong(weft_session_run(session, inputs, 2));
  EXPECT_EQ(wrong.code, WEFT_INVALID);
  EXPECT_EQ(wrong.message, "input 'y': shape [3] needs 12 bytes, found 8");
  EXPECT_EQ(Outcome(weft_session_run(session, inputs, 1)).code, WEFT_USAGE);
  EXPECT_EQ(Outcome(weft_session_run(session, nullptr, 2)).code, WEFT_USAGE);
  EXPECT_EQ(Outcome(weft_session_result(session, 7, &result)).code, WEFT_USAGE);
  weft_session_free(session);
}

TEST(CApiTest, refusesWrongCalls) {
  weft_model *model = nullptr;
  EXPECT_EQ(Outcome(weft_model_load(nullptr, nullptr, &model)).message, "weft_model_load: path is null");
  EXPECT_EQ(Outcome(weft_model_load("x", nullptr, nullptr)).code, WEFT_USAGE);
  weft_device_options options = {};
  EXPECT_EQ(Outcome(weft_model_load("x", &options, &model)).code, WEFT_USAGE); // size 0
  options.size = sizeof options;
  options.kind = 9;
  EXPECT_EQ(Outcome(weft_model_load("x", &options, &model)).code, WEFT_USAGE);
  options.kind = WEFT_DEVICE_EMULATOR;
  Outcome missing(weft_model_load("/nonexistent/model.weft", &options, &model));
  EXPECT_EQ(missing.code, WEFT_INVALID);
  EXPECT_NE(missing.message.find("/nonexistent/model.weft"), std::string::npos);
  EXPECT_EQ(model, nullptr);
  weft_status_free(nullptr);
  weft_model_free(nullptr);
  weft_session_free(nullptr);
}
