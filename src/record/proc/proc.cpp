#include <fmt/format.h>
#include <string.h>

#include "record/files/call_timer.h"
#include "record/files/kept_file.h"
#include "record/files/node_source.h"
#include "record/proc/proc_text.h"

namespace ergometer::record {
namespace {

using run::Metric;

/// The node, as its kernel sees it.
class ProcSource : public NodeSource {
 public:
  explicit ProcSource(const SourceOptions& options)
      : NodeSource("proc", "kernel"),
        stat_(options.proc + "/stat"),
        load_(options.proc + "/loadavg"),
        memory_(options.proc + "/meminfo") {
    metrics_ = {Metric::kCpuUtilization, Metric::kLoad, Metric::kMemoryUsed};
  }
  void read(Batch& batch) override;

  /// What is there of what is wanted; an error when nothing is.
  Result<void> check(const SourceOptions& options);

 private:
  KeptFile& file_of(Metric metric);
  std::optional<double> value_of(Metric metric, std::string_view text);

  KeptFile stat_, load_, memory_;
  std::optional<CpuTime> last_;
};

KeptFile& ProcSource::file_of(Metric metric) {
  if (metric == Metric::kCpuUtilization) return stat_;
  return metric == Metric::kLoad ? load_ : memory_;
}

std::optional<double> ProcSource::value_of(Metric metric, std::string_view text) {
  if (metric == Metric::kLoad) return leading_number(text);
  if (metric == Metric::kMemoryUsed) return memory_used(text);
  const auto now = cpu_time(text);
  const auto before = last_;
  if (now) last_ = now;
  return now && before ? busy_percent(*before, *now) : std::nullopt;
}

Result<void> ProcSource::check(const SourceOptions& options) {
  ERGOMETER_TRY(keep_wanted(options));
  std::string problem;
  std::erase_if(metrics_, [&](Metric metric) {
    const auto text = file_of(metric).read();
    if (text) return false;
    problem =
        fmt::format("{}: {}", file_of(metric).path(), ::strerror(file_of(metric).error_number()));
    return true;
  });
  if (metrics_.empty()) return missing_error(problem);
  for (const Metric metric : metrics_)
    costs_.push_back({.call = fmt::format("read {}", run::metric_info(metric).name)});
  return {};
}

void ProcSource::read(Batch& batch) {
  std::string problem;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    CallTimer timer(costs_[i]);
    const int64_t now = now_ns();
    KeptFile& file = file_of(metrics_[i]);
    const auto text = file.read();
    if (!text) {
      timer.failed();
      problem = fmt::format("{}: {}", file.path(), ::strerror(file.error_number()));
    } else if (const auto value = value_of(metrics_[i], *text)) {
      batch.add(0, metrics_[i], now, *value);
    }
  }
  note(problem, batch);
}

}  // namespace

Opened open_proc(const SourceOptions& options) {
  auto source = std::make_unique<ProcSource>(options);
  ERGOMETER_TRY(source->check(options));
  return source;
}

}  // namespace ergometer::record
