// How a row of a micro-benchmark table becomes a prediction: its machine and shape are read
// (microbench_row.cpp), the cost model's parameters are those a job on that machine would have, and
// the operator is priced alone.
//
//   kernel         value = counted FLOPs / t                        [TFLOP/s]
//   bus bandwidth  value = k S / t, k = 2 (n-1)/n for all-reduce, else (n-1)/n       [GB/s]
//   copy           value = 2 S / t both ways                        [GB/s]
//   time           value = t                                        [us]
//
// t carries the benchmark program's launch overhead instead of the gap between kernels.
#include "validation/kernels/microbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/collection.h"
#include "base/csv.h"
#include "base/text.h"
#include "cost/parameters.h"
#include "spec/catalog/read.h"
#include "validation/kernels/microbench_row.h"
#include "validation/score.h"

namespace ergometer::validation {
namespace {

using cost::CostModel;
using workload::CollectiveKind;
using workload::Operator;
using workload::OperatorKind;

constexpr double kSmallestScoredMessage = 1e6;
/// Of the links' rate: what copies from GPU to GPU take, which are no sends of NCCL's: NVLink 3 to
/// 5 0.83 to 0.91, copy engines of H200 0.88, 0.87 both ways (stas00/ml-engineering@744d01e
/// network).
constexpr double kPeerCopyShare = 0.87;

std::string cell(const base::CsvTable& table, size_t row, std::string_view column) {
  return std::string(table.cell(row, column));
}

MicrobenchCells cells_of(const base::CsvTable& table, size_t row) {
  MicrobenchCells cells;
  cells.kind = table.cell(row, "kind");
  cells.device = table.cell(row, "device");
  cells.config = table.cell(row, "config");
  cells.source = table.cell(row, "source");
  cells.metric = table.cell(row, "metric");
  if (const auto devices = base::parse_integer(table.cell(row, "n_devices")); devices)
    cells.devices = *devices;
  return cells;
}

struct PricedMachine {
  spec::Node node;
  CostModel::Parameters parameters;
};

/// The parameters of a job on the subject's machine, of no particular software: kernels alone.
Result<PricedMachine> machine_of(const MicrobenchSubject& subject) {
  spec::Job job;
  ERGOMETER_ASSIGN(job.cluster, spec::read_cluster(subject.cluster));
  job.gpus = subject.ranks > 1 ? std::max(subject.ranks, job.cluster.domain_gpus) : 1;
  job.parallelism.dp = job.gpus;
  spec::Gpu& gpu = job.cluster.node.gpu;
  if (!gpu.parameters.has("peak_bf16")) job.training.precision = spec::Precision::kFp16;
  if (subject.short_run)
    gpu.sustained_clock_hz = gpu.parameters.value_or("short_run_clock", gpu.sustained_clock_hz);
  if (subject.in_switch)
    job.software.parameters.set("collectives.in_switch",
                                {1, "", "the benchmark's", base::Grade::kMeasured});
  ERGOMETER_ASSIGN(CostModel::Parameters parameters, cost::read_parameters(job));
  if (subject.ranks > 1) parameters.device.kernel_latency_s = 0;  // the harness has its own
  return PricedMachine{std::move(job.cluster.node), std::move(parameters)};
}

/// A list of tensors is copied into the collective's buffer, or out of it: read and written once.
double copy_s(const MicrobenchSubject& subject, const CostModel::Parameters& p,
              const Operator& op) {
  const bool lists = op.collective == CollectiveKind::kAllGather ||
                     op.collective == CollectiveKind::kReduceScatter;
  if (!subject.copies || op.kind != OperatorKind::kCollective || !lists) return 0;
  return 2 * op.comm_bytes / (p.memory.efficiency * p.device.memory_bytes_per_s);
}

plan::GroupPlacement placement_of(const MicrobenchSubject& subject, const spec::Node& node) {
  plan::GroupPlacement where;
  where.size = subject.ranks;
  where.nodes = subject.nodes;
  where.ranks_per_node = subject.ranks / subject.nodes;
  if (subject.nodes > 1)
    for (const spec::Nic& nic : node.nics) where.nic_bytes_per_s += nic.bytes_per_s;
  return where;
}

/// What the row's unit counts of `seconds`, and back: value = work / seconds, or a time.
struct Unit {
  double work = 0;  ///< 0: the unit is a time
  double scale = 1;
  double value(double seconds) const { return work > 0 ? work / seconds / scale : seconds / scale; }
};

Result<Unit> unit_of(std::string_view unit, const MicrobenchWork& work,
                     const MicrobenchSubject& subject) {
  const auto ranks = static_cast<double>(subject.ranks);
  double bytes = work.op.comm_bytes;
  if (work.op.collective == CollectiveKind::kSendRecv) {
    bytes *= 2;
  } else {
    bytes *= (work.op.collective == CollectiveKind::kAllReduce ? 2 : 1) * (ranks - 1) / ranks;
  }
  const bool link = work.op.kind == OperatorKind::kCollective;
  if (!link && unit == "TFLOP/s") return Unit{work.counted_flops, 1e12};
  if (link && unit == "GB/s") return Unit{bytes, 1e9};
  if (link && unit == "Gb/s") return Unit{bytes, 1e9 / 8};
  if (unit == "us") return Unit{0, 1e-6};
  if (unit == "ms") return Unit{0, 1e-3};
  return input_error("unit \"{}\" is not one of {}", unit,
                     link ? "GB/s, Gb/s, us, ms" : "TFLOP/s, us, ms");
}

Result<void> predict(MicrobenchRow& row, const MicrobenchCells& cells) {
  ERGOMETER_ASSIGN(const MicrobenchSubject subject, subject_of(cells));
  row.platform = subject.cluster;
  if (subject.nodes > 1) row.platform += fmt::format(", {} nodes", subject.nodes);
  ERGOMETER_ASSIGN(const MicrobenchWork work, work_of(cells));
  row.kind = work.kind;
  ERGOMETER_ASSIGN(const Unit unit, unit_of(row.unit, work, subject));
  ERGOMETER_ASSIGN(const PricedMachine machine, machine_of(subject));
  const double seconds =
      work.kind == "copy"
          ? work.op.comm_bytes / (kPeerCopyShare * machine.node.intra_bytes_per_s)
          : subject.harness_s + copy_s(subject, machine.parameters, work.op) +
                price_alone(machine.parameters, work.op, placement_of(subject, machine.node))
                    .seconds();
  row.predicted = unit.value(seconds);
  if (row.measured <= 0)
    return input_error("the measured value is 0 in the digits the source prints");
  const double ratio = row.predicted / row.measured;
  row.error_pct = kPercent * (unit.work > 0 ? 1 / ratio - 1 : ratio - 1);
  row.scored =
      work.op.kind != OperatorKind::kCollective || work.op.comm_bytes >= kSmallestScoredMessage;
  return {};
}

void summarize(MicrobenchReport& report) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> errors;
  for (const MicrobenchRow& row : report.rows) {
    (row.skipped_reason.empty() ? report.predicted : report.skipped) += 1;
    if (row.skipped_reason.empty() && row.scored)
      errors[{row.kind, row.platform}].push_back(row.error_pct);
  }
  for (const auto& [key, values] : errors) {
    MicrobenchLine line{key.second, key.first};
    std::vector<double> sizes;
    for (const double value : values) {
      sizes.push_back(std::abs(value));
      line.mean_pct += std::abs(value) / static_cast<double>(values.size());
      line.bias_pct += value / static_cast<double>(values.size());
      line.max_pct = std::max(line.max_pct, std::abs(value));
    }
    line.rows = static_cast<int64_t>(values.size());
    line.median_pct = base::middle_median(std::move(sizes));
    report.lines.push_back(std::move(line));
  }
}

}  // namespace

Result<MicrobenchReport> score_microbench_text(std::string_view csv, const std::string& file) {
  ERGOMETER_ASSIGN(const base::CsvTable table, base::parse_csv(csv, file));
  ERGOMETER_TRY(base::require_columns(table, file, {"kind", "device", "config", "value", "unit"}));
  MicrobenchReport report;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    MicrobenchRow row;
    row.line = table.rows[i].line;
    row.id = cell(table, i, "id");
    row.kind = cell(table, i, "kind");
    row.device = cell(table, i, "device");
    row.unit = cell(table, i, "unit");
    const auto measured = base::parse_number(table.cell(i, "value"));
    if (!measured || *measured < 0) {
      return input_error("{}:{}: value = \"{}\" is no number from 0 on", file, row.line,
                         table.cell(i, "value"));
    }
    row.measured = *measured;
    if (const auto done = predict(row, cells_of(table, i)); !done) {
      row.skipped_reason = done.error().message;
      row.predicted = 0;
    }
    report.rows.push_back(std::move(row));
  }
  summarize(report);
  return report;
}

}  // namespace ergometer::validation
