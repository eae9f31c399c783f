// TensorBoard's event files. Every piece of the input, behind a byte that says its length, becomes
// a record whose checks hold: of other bytes no reader gets further than the first check.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "check_telemetry.h"
#include "import/telemetry/telemetry.h"

namespace {

using namespace ergometer;

void put(std::string& to, uint64_t word, size_t width) {
  for (size_t i = 0; i < width; ++i) to += static_cast<char>(word >> (8 * i) & 255);
}

/// CRC-32C, masked as TFRecord masks it.
uint32_t check_of(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

std::string records(std::string_view pieces) {
  std::string file;
  while (!pieces.empty()) {
    const size_t wanted = static_cast<uint8_t>(pieces.front());
    const std::string_view data = pieces.substr(1, wanted);
    pieces.remove_prefix(std::min(pieces.size(), wanted + 1));
    std::string length;
    put(length, data.size(), 8);
    file += length;
    put(file, check_of(length), 4);
    file += data;
    put(file, check_of(data), 4);
  }
  return file;
}

void check(const run::TrainingLog& training) {
  int64_t before = -1;
  for (const run::TrainingStep& step : training.steps) {
    if (step.number <= before || !(step.seconds > 0 && step.seconds <= 1e6)) std::abort();
    if (!(step.tokens_per_s_per_gpu >= 0)) std::abort();
    before = step.number;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string file = records({reinterpret_cast<const char*>(data), size});
  const auto log = importer::parse_telemetry(file, "events.out.tfevents.1.a", {});
  if (!log) {
    if (log.error().message.empty()) std::abort();
    return 0;
  }
  for (const run::TrainingLog& training : log->training) check(training);
  check(analysis::analyze_telemetry(*log));
  return 0;
}
