// What a single kernel draws, beside what was measured.
//
// At the measured time t, the governor finds the highest clock at which E v^2 / t and what the GPU
// draws anyway stay within the row's power limit; E: cost/energy.h. From the shape alone, t is the
// cost model's price, which follows the clock.
//
// Readings. Since Ampere NVML's power is the mean of the last second (docs/models/sensor.md). A
// table that repeats a kernel for about a second and polls meanwhile has seconds in it that began
// before: with the GPU at P0 before and P in the kernel, the mean over readings goes from
// (P0 + P) / 2 to P. Nothing in a row says what was before. Of kernels alike the upper readings are
// those that hold nothing else, and so a row is settled whose reading is within 7 % of the 95th
// percentile of its likes: same device, framework, kernel, kind, precision, width of heads and
// whether there is a window, and the same quarter of an octave of FLOP/s and half octave of bytes
// a second. Power grows with work, so a reading must also come within 7 % of that percentile among
// rows that do no more of either: else all of its likes are half way from idle. Where fewer than
// eight rows are alike, none is settled. The prediction has no part in it.
#include "validation/kernels/kernel_power.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/collection.h"
#include "base/csv.h"
#include "cost/energy.h"
#include "cost/parameters.h"
#include "physics/governor.h"
#include "spec/catalog/read.h"
#include "validation/kernels/kernel_power_row.h"
#include "validation/kernels/microbench_row.h"
#include "validation/score.h"

namespace ergometer::validation {
namespace {

constexpr double kShortestScored_s = 0.5e-3;  ///< shorter kernels' readings hold launch gaps
constexpr double kSettledShare = 0.93, kUpperReading = 0.95;
constexpr size_t kFewestAlike = 8;

/// A GPU with the models of a job on it that multiplies in one precision.
struct PoweredMachine {
  std::string platform;
  cost::CostModel::Parameters prices;
  cost::EnergyModel energy;
  physics::GpuPower power;
  double reference_hz = 0;  ///< the clock of `prices`
};

Result<PoweredMachine> powered_machine(const KernelPowerWork& work) {
  MicrobenchCells cells;
  cells.kind = "gemm";
  cells.device = work.row.device;
  ERGOMETER_ASSIGN(const MicrobenchSubject subject, subject_of(cells));
  spec::Job job;
  ERGOMETER_ASSIGN(job.cluster, spec::read_cluster(subject.cluster));
  job.gpus = job.parallelism.dp = 1;
  job.training.precision = work.op.precision;
  if (work.block_scales) job.training.fp8_recipe = spec::Fp8Recipe::kBlockwise;
  ERGOMETER_ASSIGN(cost::CostModel::Parameters prices, cost::read_parameters(job));
  ERGOMETER_ASSIGN(cost::EnergyModel energy, cost::EnergyModel::make(job));
  ERGOMETER_ASSIGN(physics::GpuPower power, physics::gpu_power(job.cluster.node.gpu));
  return PoweredMachine{subject.cluster, std::move(prices), std::move(energy), std::move(power),
                        job.cluster.node.gpu.sustained_clock_hz};
}

struct TimeAndPower {
  double seconds = 0, watts = 0;
};

TimeAndPower run_kernel(const physics::GpuPower& power, const physics::Energy& energy,
                        double seconds, const physics::Response& response, double limit_w) {
  const physics::Silicon nominal;
  const double die_c = power.leakage_c;  // what leakage is stated at
  const physics::Load load = physics::load_of(energy, seconds);
  const double clock_hz =
      decide_clock(power, nominal, {.cap_w = limit_w}, die_c, load, response, 0).clock_hz;
  const double stretch =
      1 - response.clocked_share +
      (response.clocked_share > 0 ? response.clocked_share * response.at_hz / clock_hz : 0);
  const physics::Load at_clock =
      response.clocked_share > 0 ? physics::load_at(load, response, clock_hz) : load;
  return {seconds * stretch, power.power_w(clock_hz, die_c, at_clock, nominal)};
}

void predict_kernel(const PoweredMachine& machine, const KernelPowerWork& work,
                    KernelPowerRow& row) {
  const cost::CostModel::Parameters& p = machine.prices;
  const cost::Price price = work.op.kind == workload::OperatorKind::kGemm
                                ? price_gemm(p.device, p.gemm, work.op)
                                : price_attention(p.device, p.attention, p.gemm, p.memory, work.op);
  const physics::Energy energy = machine.energy.energy(work.op, {});
  row.platform = machine.platform;
  row.at_measured_w = run_kernel(machine.power, energy, row.measured_s, {}, row.limit_w).watts;
  const TimeAndPower alone =
      run_kernel(machine.power, energy, price.seconds(),
                 {price.clocked_s / price.seconds(), machine.reference_hz}, row.limit_w);
  row.predicted_s = alone.seconds;
  row.at_predicted_w = alone.watts;
}

/// Parts of an octave that a rate lies above 1.
int64_t octave_part(double rate, double parts) {
  return static_cast<int64_t>(std::floor(std::log2(rate) * parts));
}

/// What a kernel does in a second: parts of octaves of FLOP/s and of bytes/s.
using Rates = std::pair<int64_t, int64_t>;
using Likes = std::map<Rates, std::vector<KernelPowerRow*>>;

/// The upper reading of each group of likes that is large enough.
std::map<Rates, double> upper_readings(const Likes& likes) {
  std::map<Rates, double> upper;
  for (const auto& [rates, rows] : likes) {
    if (rows.size() < kFewestAlike) continue;
    std::vector<double> readings = base::mapped(rows, &KernelPowerRow::measured_w);
    std::ranges::sort(readings);
    upper[rates] = readings[static_cast<size_t>(
        std::lround(kUpperReading * static_cast<double>(rows.size() - 1)))];
  }
  return upper;
}

/// The highest upper reading of those that do no more a second; 0 where the group at `rates` is
/// too small to have one.
double least_settled(const std::map<Rates, double>& upper, const Rates& rates) {
  if (!upper.contains(rates)) return 0;
  double highest = 0;
  for (const auto& [other, watts] : upper)
    if (other.first <= rates.first && other.second <= rates.second)
      highest = std::max(highest, watts);
  return highest;
}

void find_settled(std::vector<KernelPowerRow>& rows) {
  using Kernel =
      std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;
  std::map<Kernel, Likes> alike;
  for (KernelPowerRow& row : rows) {
    if (!row.scored) continue;
    alike[{row.device, row.framework, row.source, row.kind, row.precision, row.shape_family}]
         [{octave_part(row.flops / row.measured_s, 4), octave_part(row.bytes / row.measured_s, 2)}]
             .push_back(&row);
  }
  for (const auto& [kernel, likes] : alike) {
    const std::map<Rates, double> upper = upper_readings(likes);
    for (const auto& [rates, group] : likes) {
      const double settled_w = least_settled(upper, rates);
      for (KernelPowerRow* row : group)
        row->settled = settled_w > 0 && row->measured_w >= kSettledShare * settled_w;
    }
  }
}

void add_error(KernelPowerError& error, double predicted, double measured) {
  const double off = kPercent * (predicted / measured - 1);
  error.rows += 1;
  error.mean_pct += std::abs(off);
  error.bias_pct += off;
}

void summarize_power(KernelPowerReport& report) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, KernelPowerLine> lines;
  for (const KernelPowerRow& row : report.rows) {
    const bool skipped = !row.skipped_reason.empty();
    (skipped ? report.skipped : row.scored ? report.scored : report.short_ones) += 1;
    if (skipped || !row.scored) continue;
    KernelPowerLine& line = lines[{row.kind, row.precision, row.platform, row.framework}];
    line.kind = row.kind;
    line.precision = row.precision;
    line.platform = row.platform;
    line.framework = row.framework;
    add_error(line.every, row.at_measured_w, row.measured_w);
    add_error(line.time, row.predicted_s, row.measured_s);
    if (!row.settled) continue;
    add_error(line.settled, row.at_measured_w, row.measured_w);
    add_error(line.alone, row.at_predicted_w, row.measured_w);
  }
  for (auto& [key, line] : lines) {
    for (KernelPowerError* error : {&line.every, &line.settled, &line.alone, &line.time}) {
      const auto rows = static_cast<double>(std::max<int64_t>(1, error->rows));
      error->mean_pct /= rows;
      error->bias_pct /= rows;
    }
    report.lines.push_back(std::move(line));
  }
}

}  // namespace

bool is_kernel_power(std::string_view csv) {
  const std::string_view header = csv.substr(0, csv.find('\n'));
  return header.find("power_w") != header.npos && header.find("latency_ms") != header.npos;
}

Result<KernelPowerReport> score_kernel_power_text(std::string_view csv, const std::string& file) {
  ERGOMETER_ASSIGN(const base::CsvTable table, base::parse_csv(csv, file));
  ERGOMETER_ASSIGN(const bool attention, holds_attention(table, file));
  // Few machines, many rows.
  std::map<std::tuple<std::string, spec::Precision, bool>, Result<PoweredMachine>> machines;
  KernelPowerReport report;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    ERGOMETER_ASSIGN(KernelPowerWork work, attention ? attention_power_row(table, i, file)
                                                     : gemm_power_row(table, i, file));
    const std::tuple key(work.row.device, work.op.precision, work.block_scales);
    auto machine = machines.find(key);
    if (machine == machines.end()) machine = machines.emplace(key, powered_machine(work)).first;
    KernelPowerRow row = std::move(work.row);
    if (machine->second) {
      predict_kernel(*machine->second, work, row);
      row.scored = row.measured_s > kShortestScored_s;
    } else {
      row.skipped_reason = machine->second.error().message;
    }
    report.rows.push_back(std::move(row));
  }
  find_settled(report.rows);
  summarize_power(report);
  return report;
}

}  // namespace ergometer::validation
