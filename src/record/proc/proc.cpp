#include <fmt/format.h>
#include <string.h>

#include "record/files/call_timer.h"
#include "record/files/kept_file.h"
#include "record/files/make_device.h"
#include "record/proc/proc_text.h"
#include "record/sources.h"

namespace ergometer::record {
namespace {

using run::Metric;

/// The node, as its kernel sees it.
class ProcSource : public Source {
 public:
  explicit ProcSource(const SourceOptions& options)
      : stat_(options.proc + "/stat"),
        load_(options.proc + "/loadavg"),
        memory_(options.proc + "/meminfo") {
    for (const Metric metric : {Metric::kCpuUtilization, Metric::kLoad, Metric::kMemoryUsed})
      if (options.wants(metric)) metrics_.push_back(metric);
  }
  std::string_view name() const override { return "proc"; }
  std::span<const run::Device> devices() const override { return {&node_, 1}; }
  std::span<const Metric> metrics() const override { return metrics_; }
  std::vector<CallCost> costs() const override { return costs_; }
  void read(Batch& batch) override;

  /// What is there of what is wanted; an error when nothing is.
  Result<void> check();

 private:
  KeptFile& file_of(Metric metric);
  std::optional<double> value_of(Metric metric, std::string_view text);

  run::Device node_ = make_device(run::DeviceKind::kNode, "kernel");
  KeptFile stat_, load_, memory_;
  std::vector<Metric> metrics_;
  std::vector<CallCost> costs_;
  std::optional<CpuTime> last_;
  bool troubled_ = false;
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

Result<void> ProcSource::check() {
  const auto missing = [](std::string why) {
    return tl::unexpected(base::Error{base::ErrorKind::kMissing, std::move(why)});
  };
  if (metrics_.empty()) return missing("gives none of the metrics asked for");
  std::string problem;
  std::erase_if(metrics_, [&](Metric metric) {
    const auto text = file_of(metric).read();
    if (text) return false;
    problem =
        fmt::format("{}: {}", file_of(metric).path(), ::strerror(file_of(metric).error_number()));
    return true;
  });
  if (metrics_.empty()) return missing(problem);
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
  if (problem.empty() == troubled_)
    batch.notes.push_back(troubled_ ? "proc: answers again"
                                    : fmt::format("proc: no longer answers: {}", problem));
  troubled_ = !problem.empty();
}

}  // namespace

Opened open_proc(const SourceOptions& options) {
  auto source = std::make_unique<ProcSource>(options);
  ERGOMETER_TRY(source->check());
  return source;
}

}  // namespace ergometer::record
