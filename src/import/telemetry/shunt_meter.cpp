#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"
#include "import/text/decimal.h"

namespace ergometer::importer {
namespace {

// The power measurement device of GPU_Power_Benchmark (Elmor Labs' PMD): records of nine
// little-endian 16-bit words, a clock, then voltage and current of four inputs. The scales are the
// maker's; the clock's rate was fitted to 152 edges of a load whose times the host noted
// (tests/data/a100-square-wave).
constexpr size_t kInputs = 4, kWords = 1 + 2 * kInputs, kShuntRecordBytes = 2 * kWords;
constexpr double kVolts = 0.007568 / 16, kAmperes = 0.0488 / 16;
constexpr int64_t kTicks = 146663, kNsPerTicks = 50'000'000;  ///< 2.93326 MHz
/// An input on which nothing hangs shows an offset below this.
constexpr double kLeastAmperes = 0.3;

struct Record {
  std::array<int32_t, kWords> word{};
};

Record record_at(std::string_view bytes, size_t index) {
  Record record;
  for (size_t i = 0; i < kWords; ++i) {
    const size_t at = index * kShuntRecordBytes + 2 * i;
    const auto low = static_cast<uint8_t>(bytes[at]), high = static_cast<uint8_t>(bytes[at + 1]);
    const auto value = static_cast<uint16_t>(low | (high << 8));
    const bool current = i > 0 && i % 2 == 0;  // signed: an offset may lie below zero
    record.word[i] = current ? static_cast<int16_t>(value) : value;
  }
  return record;
}

int32_t step(const Record& from, const Record& to) { return (to.word[0] - from.word[0]) & 0xffff; }

/// Which inputs something hangs on.
std::array<bool, kInputs> used_inputs(std::string_view bytes, size_t records) {
  std::array<double, kInputs> sum{};
  for (size_t i = 0; i < records; ++i) {
    const Record record = record_at(bytes, i);
    for (size_t k = 0; k < kInputs; ++k) sum[k] += record.word[2 + 2 * k] * kAmperes;
  }
  std::array<bool, kInputs> used{};
  for (size_t k = 0; k < kInputs; ++k)
    used[k] = sum[k] / static_cast<double>(records) >= kLeastAmperes;
  return used;
}

constexpr std::string_view kStartName = "start_ts.txt";

std::string start_file(std::string_view path) {
  constexpr std::string_view kDataName = "data.bin";
  if (!path.ends_with(kDataName)) return fmt::format("{}.{}", path, kStartName);
  return fmt::format("{}{}", path.substr(0, path.size() - kDataName.size()), kStartName);
}

/// When a recording begins, nanoseconds since 1970.
Result<int64_t> start_of(const LogBuilder& log) {
  const std::string file = start_file(log.file());
  const auto text = log.text_beside(file);
  if (!text)
    return input_error("{}: is a meter's recording; the time of its start must stand beside it: {}",
                       log.file(), text.error().message);
  const size_t end = text->find_last_not_of(" \r\n\t");
  const auto start = nanoseconds(trim(std::string_view(*text).substr(0, end + 1)));
  if (start && *start > 0) return *start;
  return input_error("{}:1: found '{}', allowed: microseconds since 1970", file,
                     text->substr(0, 40));
}

}  // namespace

bool is_shunt_meter_start(std::string_view path) { return path.ends_with(kStartName); }

bool is_shunt_meter(std::string_view bytes) {
  constexpr size_t kFewest = 1000;
  if (bytes.size() < kFewest * kShuntRecordBytes) return false;
  std::vector<int32_t> steps;
  constexpr int32_t kLowest = 15000, kHighest = 35000;  // 7 to 16.5 V
  for (size_t i = 0; i < kFewest; ++i) {
    const Record record = record_at(bytes, i);
    for (size_t k = 0; k < kInputs; ++k)
      if (record.word[1 + 2 * k] < kLowest || record.word[1 + 2 * k] > kHighest) return false;
    if (i > 0) steps.push_back(step(record_at(bytes, i - 1), record));
  }
  std::ranges::sort(steps);
  const int32_t middle = steps[steps.size() / 2];
  const auto regular = std::ranges::count_if(
      steps, [&](int32_t s) { return s > middle - middle / 4 && s < middle + middle / 4; });
  return regular * 10 > static_cast<std::ptrdiff_t>(steps.size()) * 9;
}

Result<void> read_shunt_meter(std::string_view bytes, LogBuilder& log) {
  if (bytes.size() % kShuntRecordBytes != 0)
    return input_error("{}: found {} bytes, allowed: whole records of {}", log.file(), bytes.size(),
                       kShuntRecordBytes);
  ERGOMETER_ASSIGN(const int64_t start_ns, start_of(log));
  const size_t records = bytes.size() / kShuntRecordBytes;
  const std::array<bool, kInputs> used = used_inputs(bytes, records);
  const size_t meter =
      log.device_number(run::DeviceKind::kMeter, std::string(folder_of(log.file())), log.file());
  log.device_at(meter).name = stem_of(log.file());
  int64_t ticks = 0;
  Record last = record_at(bytes, 0);
  for (size_t i = 0; i < records; ++i) {
    const Record record = record_at(bytes, i);
    ticks += step(last, record);
    last = record;
    double watts = 0;
    for (size_t k = 0; k < kInputs; ++k)
      if (used[k]) watts += record.word[1 + 2 * k] * kVolts * record.word[2 + 2 * k] * kAmperes;
    log.add(meter, run::Metric::kPower, start_ns + ticks * kNsPerTicks / kTicks, watts);
  }
  return {};
}

}  // namespace ergometer::importer
