#include "cli/record/record_overhead.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/collection.h"
#include "base/text.h"
#include "cli/record/record_report.h"
#include "record/usage.h"
#include "run/run.h"

namespace ergometer::cli {
namespace {

constexpr double kPercent = 100;
constexpr double kDefault_s = 10;

/// 97.5 % quantile of Student's t distribution (NIST/SEMATECH e-Handbook of Statistical Methods,
/// table 1.3.6.7.2) by degrees of freedom from 1 on.
double t_quantile(size_t degrees) {
  constexpr std::array kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  constexpr double kNormal = 1.960;
  return degrees <= kTable.size() ? kTable[degrees - 1] : kNormal;
}

struct SelfTestResult {
  Session session;
  int64_t process_cpu_ns = 0, resident_bytes = 0, peak_resident_bytes = 0;
  std::vector<double> without_s, with_s;

  double seconds() const {
    return static_cast<double>(session.report.end_ns - session.report.start_ns) * 1e-9;
  }
  /// Share of one core.
  double share(int64_t cpu_ns) const { return static_cast<double>(cpu_ns) * 1e-9 / seconds(); }
  int64_t own_cpu_ns() const { return process_cpu_ns - session.report.source_cpu_ns; }
};

/// A file that is gone at the end, beside the one that was asked for: the same disk is written to.
class ScratchFile {
 public:
  explicit ScratchFile(const RecordOptions& options)
      : path_(fmt::format("{}ergometer-self-test-{}.run",
                          options.out.empty() ? "" : options.out + ".", getpid())) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<void> record_once(const RecordOptions& options, const std::string& file,
                         const record::Signals& signals, const Console& console,
                         SelfTestResult& result) {
  const int64_t before = record::process_cpu_ns();
  ERGOMETER_ASSIGN(result.session, record_session(options, file, signals, console));
  result.process_cpu_ns = record::process_cpu_ns() - before;
  result.resident_bytes = record::resident_bytes();
  result.peak_resident_bytes = std::max(result.resident_bytes, record::peak_resident_bytes());
  return {};
}

bool failed(const record::ExitStatus& status) { return status.code != 0 || status.signal != 0; }

/// The command with and without recording in turns; which comes first alternates, so that what
/// drifts meanwhile (a warm cache, a clock) falls on both. The command's first failure ends it.
Result<record::ExitStatus> compare(const RecordOptions& options, const std::string& file,
                                   const record::Signals& signals, const Console& console,
                                   SelfTestResult& result) {
  for (int64_t i = 0; i < 2 * options.repeats; ++i) {
    const bool recorded = (i % 4 == 1) || (i % 4 == 2);
    record::ExitStatus status;
    if (recorded) {
      ERGOMETER_TRY(record_once(options, file, signals, console, result));
      status = result.session.command.value_or(status);
      result.with_s.push_back(result.session.command_s);
    } else {
      ERGOMETER_ASSIGN(const auto alone, run_alone(options, signals));
      status = alone.first;
      result.without_s.push_back(alone.second);
    }
    if (failed(status)) return status;
    console.note("{} of {}: {} {} recording", i + 1, 2 * options.repeats,
                 base::format_seconds(recorded ? result.with_s.back() : result.without_s.back()),
                 recorded ? "with" : "without");
  }
  return record::ExitStatus{};
}

/// How the command ended, or as if it had ended well where there is none.
Result<record::ExitStatus> measure(RecordOptions options, const record::Signals& signals,
                                   const Console& console, SelfTestResult& result) {
  const ScratchFile file(options);
  if (!options.command.empty()) return compare(options, file.path(), signals, console, result);
  if (!options.duration_s && !options.attach) options.duration_s = kDefault_s;
  ERGOMETER_TRY(record_once(options, file.path(), signals, console, result));
  return record::ExitStatus{};
}

std::string calls_text(const std::vector<record::SourceCosts>& all) {
  std::string out;
  for (const record::SourceCosts& costs : all) {
    for (const record::CallCost& call : costs.calls) {
      const double mean = call.count > 0 ? static_cast<double>(call.total_ns) * 1e-9 /
                                               static_cast<double>(call.count)
                                         : 0;
      out +=
          fmt::format("{:<46}{:>9}{:>10}{:>10}{:>8}\n", costs.source + ": " + call.call,
                      base::format_count(call.count), base::format_seconds(mean),
                      base::format_nanoseconds(call.longest_ns), base::format_count(call.failed));
    }
  }
  return out;
}

std::string to_text(const SelfTestResult& r) {
  const record::RecorderReport& report = r.session.report;
  std::string out = fmt::format(
      "Recorded {} of {}\n"
      "  rate             {:.4g} of {} Hz, {} rounds missed of {}\n"
      "  own time         {:.3f} % of a core\n"
      "  sources' calls   {:.3f} % of a core\n"
      "  memory           {} resident, {} at most\n\n"
      "{:<46}{:>9}{:>10}{:>10}{:>8}\n{}",
      base::format_seconds(r.seconds()), device_counts(r.session.devices),
      static_cast<double>(report.ticks) / r.seconds(), r.session.hz,
      base::format_count(report.missed), base::format_count(report.ticks + report.missed),
      kPercent * r.share(r.own_cpu_ns()), kPercent * r.share(report.source_cpu_ns),
      base::format_binary_bytes(static_cast<double>(r.resident_bytes)),
      base::format_binary_bytes(static_cast<double>(r.peak_resident_bytes)), "Call", "calls",
      "mean", "longest", "failed", calls_text(report.costs));
  if (r.with_s.empty()) return out;
  const Change change = change_of(r.without_s, r.with_s);
  return out + fmt::format(
                   "\nThe command, {} times each\n"
                   "  without          {} mean\n"
                   "  with recording   {} mean, {:+.2f} % (95 % interval {:+.2f} to {:+.2f} %)\n",
                   r.with_s.size(), base::format_seconds(change.mean_without_s),
                   base::format_seconds(change.mean_with_s), change.percent, change.low_percent,
                   change.high_percent);
}

std::string to_json(const SelfTestResult& r) {
  base::JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  write_session(json, r.session);
  json.member("own_cpu_fraction", r.share(r.own_cpu_ns()));
  json.member("source_cpu_fraction", r.share(r.session.report.source_cpu_ns));
  json.member("resident_bytes", r.resident_bytes);
  json.member("peak_resident_bytes", r.peak_resident_bytes);
  if (!r.with_s.empty()) {
    const Change change = change_of(r.without_s, r.with_s);
    json.key("command").begin_object();
    json.list("without_s", r.without_s, base::kOneLine);
    json.list("with_s", r.with_s, base::kOneLine).member("change_pct", change.percent);
    json.member("change_low_pct", change.low_percent);
    json.member("change_high_pct", change.high_percent).end_object();
  }
  json.end_object();
  return json.take();
}

}  // namespace

Change change_of(const std::vector<double>& without_s, const std::vector<double>& with_s) {
  Change change;
  change.mean_without_s = base::mean(without_s);
  change.mean_with_s = base::mean(with_s);
  std::vector<double> differences;
  for (size_t i = 0; i < with_s.size(); ++i) differences.push_back(with_s[i] - without_s[i]);
  const double mean = base::mean(differences);
  const double squares = base::sum(differences, [&](double d) { return (d - mean) * (d - mean); });
  const auto n = static_cast<double>(differences.size());
  const double half = t_quantile(differences.size() - 1) * std::sqrt(squares / (n - 1) / n);
  const double scale = kPercent / change.mean_without_s;
  change.percent = scale * mean;
  change.low_percent = scale * (mean - half);
  change.high_percent = scale * (mean + half);
  return change;
}

Result<int> run_self_test(const RecordOptions& options, const record::Signals& signals,
                          const Console& console) {
  SelfTestResult result;
  ERGOMETER_ASSIGN(const record::ExitStatus status, measure(options, signals, console, result));
  if (failed(status)) {
    console.note("the command failed: nothing to compare");
    return status.signal != 0 ? record::die_by(status.signal) : status.code;
  }
  console.answer(options.json ? to_json(result) : to_text(result));
  return 0;
}

}  // namespace ergometer::cli
