#include "record/amd/gpu_metrics.h"

#include <cstring>

namespace ergometer::record::amd {
namespace {

// Energy is counted in 2^-16 J: "15.259uJ (2^-16) units" (kgd_pp_interface.h).
constexpr double kJoulesPerCount = 1.0 / 65536;
constexpr double kXgmiBytesPerCount = 1024;  // "KiloBytes" there; that they are binary is assumed
constexpr size_t kXgmiLinks = 8;
constexpr int kNone = -1;

/// Where the fields of one version lie: bytes from the table's start.
struct Layout {
  int revision, size;
  int edge, hotspot, memory;
  int busy, memory_busy;
  int average_power, power;
  int energy, boot_time;
  int gfx_clock, gfx_clocks, memory_clock;
  int throttle, residency;
  int replays, xgmi_read, xgmi_written;
};
// clang-format off
constexpr Layout kLayouts[] = {
  // v1.  size  edge hot mem  busy     W avg  W     energy time  clocks       throttle   PCIe xGMI
  {  1,     96,    4,  6,  8, 16, 18,    22, kNone, 24,  32,  54, 1,  58, kNone, kNone, kNone, kNone, kNone},
  {  2,    104,    4,  6,  8, 16, 18,    22, kNone, 24,  32,  54, 1,  58, kNone, kNone, kNone, kNone, kNone},
  {  3,    120,    4,  6,  8, 16, 18,    22, kNone, 24,  32,  54, 1,  58,   112, kNone, kNone, kNone, kNone},
  {  4,    288, kNone, 4,  6, 12, 14, kNone,    10, 24,  32, 240, 8, 280, kNone, kNone,    88,   104,   168},
  {  5,    360, kNone, 4,  6, 12, 14, kNone,    10, 88,  96, 312, 8, 352, kNone, kNone,   152,   176,   240},
  {  6,   1664, kNone, 4,  6, 12, 14, kNone,    10, 16,  24, 264, 8, 304, kNone,    32,   104,   128,   192},
  {  7,   2208, kNone, 4,  6, 12, 14, kNone,    10, 24,  32, 296, 8, 336, kNone,    40,   112,   136,   200},
  {  8,   3872, kNone, 4,  6, 12, 14, kNone,    10, 24,  32, 296, 8, 336, kNone,    40,   112,   136,   200},
};
// clang-format on

class Table {
 public:
  explicit Table(std::span<const unsigned char> bytes) : bytes_(bytes) {}

  template <class Number>
  Number raw(int offset) const {
    Number number = 0;
    std::memcpy(&number, bytes_.data() + offset, sizeof number);
    return number;
  }
  /// All ones stand for a value that this GPU does not have.
  template <class Number>
  std::optional<double> value(int offset, double factor = 1) const {
    if (offset == kNone) return {};
    const auto number = raw<Number>(offset);
    if (number == static_cast<Number>(~Number{0})) return {};
    return factor * static_cast<double>(number);
  }

 private:
  std::span<const unsigned char> bytes_;
};

std::optional<double> mean_clock(const Table& table, int offset, int count) {
  double sum = 0;
  int known = 0;
  for (int i = 0; i < count; ++i)
    if (const auto clock = table.value<uint16_t>(offset + 2 * i)) {
      sum += *clock;
      ++known;
    }
  if (known == 0) return {};
  return sum / known;
}

std::optional<double> sum_of_links(const Table& table, int offset) {
  if (offset == kNone) return {};
  std::optional<double> sum;
  for (size_t link = 0; link < kXgmiLinks; ++link)
    if (const auto count = table.value<uint64_t>(offset + 8 * static_cast<int>(link)))
      sum = sum.value_or(0) + kXgmiBytesPerCount * *count;
  return sum;
}

std::optional<Residency> residency_of(const Table& table, int offset) {
  if (offset == kNone || !table.value<uint32_t>(offset)) return {};
  const auto at = [&](int index) { return table.raw<uint32_t>(offset + 4 * index); };
  return Residency{at(0), at(2), at(3), at(4), at(5), at(1)};
}

}  // namespace

std::optional<GpuMetrics> parse_gpu_metrics(std::span<const unsigned char> bytes) {
  constexpr size_t kHeaderBytes = 4;
  if (bytes.size() < kHeaderBytes || bytes[2] != 1) return {};
  for (const Layout& at : kLayouts) {
    if (at.revision != bytes[3]) continue;
    if (bytes.size() < static_cast<size_t>(at.size)) return {};
    const Table table(bytes);
    GpuMetrics metrics;
    metrics.boot_time_ns = table.raw<int64_t>(at.boot_time);
    metrics.average_power_w = table.value<uint16_t>(at.average_power);
    metrics.power_w = table.value<uint16_t>(at.power);
    metrics.energy_j = table.value<uint64_t>(at.energy, kJoulesPerCount);
    metrics.edge_c = table.value<uint16_t>(at.edge);
    metrics.hotspot_c = table.value<uint16_t>(at.hotspot);
    metrics.memory_c = table.value<uint16_t>(at.memory);
    metrics.busy_percent = table.value<uint16_t>(at.busy);
    metrics.memory_busy_percent = table.value<uint16_t>(at.memory_busy);
    metrics.gfx_mhz = mean_clock(table, at.gfx_clock, at.gfx_clocks);
    metrics.memory_mhz = table.value<uint16_t>(at.memory_clock);
    metrics.pcie_replays = table.value<uint64_t>(at.replays);
    metrics.xgmi_read_bytes = sum_of_links(table, at.xgmi_read);
    metrics.xgmi_written_bytes = sum_of_links(table, at.xgmi_written);
    if (table.value<uint64_t>(at.throttle)) metrics.throttle = table.raw<uint64_t>(at.throttle);
    metrics.residency = residency_of(table, at.residency);
    return metrics;
  }
  return {};
}

}  // namespace ergometer::record::amd
