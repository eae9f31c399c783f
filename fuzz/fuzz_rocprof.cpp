// A result of rocprofv3: refused with a message, or traces that add up.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "check_trace.h"
#include "import/rocprof/rocprof.h"

namespace {

using namespace ergometer;

class Bytes : public importer::ByteSource {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  Result<size_t> read(char* to, size_t most) override {
    const size_t count = std::min(most, size_ - at_);
    if (count > 0) std::memcpy(to, data_ + at_, count);
    at_ += count;
    return count;
  }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes source(data, size);
  const auto traces = importer::read_rocprof(source, "job.json");
  if (!traces) {
    if (traces.error().message.empty()) std::abort();
    return 0;
  }
  check(*traces);
  return 0;
}
