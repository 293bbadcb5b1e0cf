// C interface over SPIRV-Tools' C++ classes, for ffi/spirv_tools.ts. Every function catches all exceptions, since one must not cross
// into the JavaScript engine, and reports through one result struct whose memory the caller gives back with anyagc_spirv_release.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>

namespace {

struct Result {
  void* data;              // malloc'ed: SPIR-V words or text, or null
  uint64_t data_bytes;
  char* messages;          // malloc'ed records, or null
  uint64_t message_bytes;
};

enum Status : int32_t { kDone = 0, kRejected = 1, kUnknownEnvironment = 2, kException = 3 };

// Fields of a message are separated by 0x1f and messages by 0x1e: texts may hold newlines.
class Messages {
 public:
  spvtools::MessageConsumer consumer() {
    return [this](spv_message_level_t level, const char*, const spv_position_t& position, const char* text) {
      add(level, position.index, position.line, position.column, text);
    };
  }
  void add(int level, size_t index, size_t line, size_t column, const char* text) {
    stream_ << level << '\x1f' << index << '\x1f' << line << '\x1f' << column << '\x1f' << (text ? text : "") << '\x1e';
  }
  void store(Result* result) const {
    const std::string text = stream_.str();
    if (text.empty()) return;
    result->messages = static_cast<char*>(std::malloc(text.size()));
    if (!result->messages) return;
    std::memcpy(result->messages, text.data(), text.size());
    result->message_bytes = text.size();
  }

 private:
  std::ostringstream stream_;
};

bool store_data(Result* result, const void* data, size_t bytes) {
  result->data = std::malloc(bytes ? bytes : 1);
  if (!result->data) return false;
  std::memcpy(result->data, data, bytes);
  result->data_bytes = bytes;
  return true;
}

// Runs `body(env, messages)` and turns whatever happens into a status.
template <typename Body>
int32_t guarded(const char* environment, Result* result, Body body) {
  std::memset(result, 0, sizeof *result);
  try {
    Messages messages;
    spv_target_env env;
    if (!spvParseTargetEnv(environment, &env)) return kUnknownEnvironment;
    int32_t status = kException;
    try {
      status = body(env, messages);
    } catch (const std::exception& error) {
      messages.add(SPV_MSG_INTERNAL_ERROR, 0, 0, 0, error.what());
    }
    messages.store(result);
    return status;
  } catch (...) {
    return kException;
  }
}

constexpr uint32_t kScalarBlockLayout = 1;
constexpr uint32_t kLargeIdBound = 0x7fffffff;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char* anyagc_spirv_version() { return spvSoftwareVersionString(); }

EXPORT void anyagc_spirv_release(Result* result) {
  std::free(result->data);
  std::free(result->messages);
  std::memset(result, 0, sizeof *result);
}

EXPORT int32_t anyagc_spirv_validate(const char* environment, uint32_t options, const uint32_t* words, uint64_t count, Result* result) {
  return guarded(environment, result, [&](spv_target_env env, Messages& messages) -> int32_t {
    spvtools::SpirvTools tools(env);
    tools.SetMessageConsumer(messages.consumer());
    spvtools::ValidatorOptions validator;
    validator.SetScalarBlockLayout((options & kScalarBlockLayout) != 0);
    return tools.Validate(words, count, validator) ? kDone : kRejected;
  });
}

// `flags`: spirv-opt's flags, separated by newlines.
EXPORT int32_t anyagc_spirv_optimize(const char* environment, const char* flags, const uint32_t* words, uint64_t count, Result* result) {
  return guarded(environment, result, [&](spv_target_env env, Messages& messages) -> int32_t {
    spvtools::Optimizer optimizer(env);
    optimizer.SetMessageConsumer(messages.consumer());
    std::vector<std::string> list;
    std::istringstream lines(flags);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) list.push_back(line);
    }
    if (!optimizer.RegisterPassesFromFlags(list)) return kRejected;
    spvtools::OptimizerOptions options;
    options.set_run_validator(false);
    options.set_max_id_bound(kLargeIdBound);
    std::vector<uint32_t> out;
    if (!optimizer.Run(words, count, &out, options)) return kRejected;
    return store_data(result, out.data(), out.size() * 4) ? kDone : kException;
  });
}

EXPORT int32_t anyagc_spirv_assemble(const char* environment, uint32_t options, const char* text, uint64_t bytes, Result* result) {
  return guarded(environment, result, [&](spv_target_env env, Messages& messages) -> int32_t {
    spvtools::SpirvTools tools(env);
    tools.SetMessageConsumer(messages.consumer());
    std::vector<uint32_t> out;
    if (!tools.Assemble(text, bytes, &out, options)) return kRejected;
    return store_data(result, out.data(), out.size() * 4) ? kDone : kException;
  });
}

EXPORT int32_t anyagc_spirv_disassemble(const char* environment, uint32_t options, const uint32_t* words, uint64_t count, Result* result) {
  return guarded(environment, result, [&](spv_target_env env, Messages& messages) -> int32_t {
    spvtools::SpirvTools tools(env);
    tools.SetMessageConsumer(messages.consumer());
    std::string out;
    if (!tools.Disassemble(words, count, &out, options)) return kRejected;
    return store_data(result, out.data(), out.size()) ? kDone : kException;
  });
}
