#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "record/bmc/ipmi_text.h"
#include "record/bmc/program.h"
#include "record/files/call_timer.h"
#include "record/files/node_source.h"

// The node's controller through the program ipmitool. `sdr` asks for every sensor by itself and
// takes seconds on many boards; `dcmi power reading` is one question, which not every board knows.

namespace ergometer::record {
namespace {

using run::Metric;

constexpr double kFirstLimit = 5, kLimit = 30;  ///< seconds

struct Question {
  std::string_view words;
  void (*read)(std::string_view, NodeReadings&);
};
enum : size_t { kPowerReading, kSensors };
constexpr auto kIpmiQuestions =
    std::to_array<Question>({{"dcmi power reading", read_dcmi_power}, {"-c sdr", read_sdr}});

class IpmiSource : public NodeSource {
 public:
  explicit IpmiSource(const std::string& program) : NodeSource("ipmi", "ipmi"), program_(program) {
    for (const Question& question : kIpmiQuestions)
      costs_.push_back({.call = fmt::format("ipmitool {}", question.words)});
  }
  bool slow() const override { return true; }
  void read(Batch& batch) override;

  Result<void> check(const SourceOptions& options);

 private:
  Result<void> ask(size_t question, double limit_s, NodeReadings& readings);

  std::string program_;
  bool states_power_ = false;
};

Result<void> IpmiSource::ask(size_t question, double limit_s, NodeReadings& readings) {
  std::vector<std::string> words = {program_};
  std::string_view rest = kIpmiQuestions[question].words;
  while (!rest.empty()) {
    const size_t end = std::min(rest.size(), rest.find(' '));
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  CallTimer timer(costs_[question]);
  const auto text = run_program(words, limit_s);
  if (!text) {
    timer.failed();
    return tl::unexpected(text.error());
  }
  kIpmiQuestions[question].read(*text, readings);
  return {};
}

/// Where the power is stated, the slow list of sensors waits for the first read.
Result<void> IpmiSource::check(const SourceOptions& options) {
  NodeReadings readings;
  const auto power = ask(kPowerReading, kFirstLimit, readings);
  states_power_ = readings.total_w.has_value();
  if (states_power_) {
    metrics_ = {Metric::kPower, Metric::kInletTemperature, Metric::kOutletTemperature,
                Metric::kFanSpeed, Metric::kFan};
  } else {
    const auto sensors = ask(kSensors, kLimit, readings);
    if (!sensors) return sensors;
    metrics_ = readings.metrics();
  }
  if (metrics_.empty())
    return missing_error(
        "ipmitool lists no power, inlet, outlet or fan under a name that is known");
  return keep_wanted(options);
}

void IpmiSource::read(Batch& batch) {
  NodeReadings readings;
  Result<void> answer;
  if (states_power_) answer = ask(kPowerReading, kLimit, readings);
  const int64_t asked_ns = now_ns();
  const bool power_alone = metrics_.size() == 1 && metrics_.front() == Metric::kPower;
  // Without its reading the power is not taken from the list instead: that may be another one.
  if (answer && !(states_power_ && power_alone)) answer = ask(kSensors, kLimit, readings);
  readings.tell(metrics_, asked_ns, batch);
  note(answer ? "" : answer.error().message, batch);
}

}  // namespace

Opened open_ipmi(const SourceOptions& options) {
  auto source = std::make_unique<IpmiSource>(options.ipmitool);
  ERGOMETER_TRY(source->check(options));
  return source;
}

}  // namespace ergometer::record
