#include "serve/push_format.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "run/file/prediction.h"

namespace ergometer::serve {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr size_t kDepth = 8;
constexpr int64_t kLatestNs = PushLimits::kLatestNs;

tl::unexpected<base::Error> wrong(const char* key, const std::string& expected) {
  return input_error("\"{}\": {} is expected", key, expected);
}

Result<int64_t> whole(const object& from, const char* key, int64_t lowest, int64_t highest) {
  int64_t number = 0;
  if (from.at_key(key).get_int64().get(number) != simdjson::SUCCESS || number < lowest ||
      number > highest)
    return wrong(key, fmt::format("a whole number from {} to {}", lowest, highest));
  return number;
}

/// The same, or `fallback` where the key is not there.
Result<int64_t> whole_or(const object& from, const char* key, int64_t fallback, int64_t lowest,
                         int64_t highest) {
  if (from.at_key(key).error() == simdjson::NO_SUCH_FIELD) return fallback;
  return whole(from, key, lowest, highest);
}

/// Letters, digits and ".-_", for it becomes part of a file's name.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= PushLimits::kName && text.front() != '.' &&
         std::ranges::all_of(text, [](char c) {
           return base::is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
         });
}

Result<std::string> name(const object& from, const char* key) {
  std::string_view text;
  if (from.at_key(key).get_string().get(text) != simdjson::SUCCESS || !is_name(text))
    return wrong(key, fmt::format("1 to {} letters, digits, '.', '-' and '_', no '.' first",
                                  PushLimits::kName));
  return std::string(text);
}

Result<std::string> text_or_none(const object& from, const char* key) {
  const auto found = from.at_key(key);
  if (found.error() == simdjson::NO_SUCH_FIELD) return std::string();
  std::string_view text;
  if (found.get_string().get(text) != simdjson::SUCCESS || text.size() > PushLimits::kText)
    return wrong(key, fmt::format("text of at most {} bytes", PushLimits::kText));
  return std::string(text);
}

std::optional<run::DeviceKind> kind_of(const object& from) {
  std::string_view text;
  if (from.at_key("kind").get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  for (int kind = 0; kind <= static_cast<int>(run::DeviceKind::kPort); ++kind)
    if (text == run::kind_name(static_cast<run::DeviceKind>(kind)))
      return static_cast<run::DeviceKind>(kind);
  return std::nullopt;
}

Result<run::Device> read_device(const object& from, const std::string& host) {
  constexpr int64_t kMost = 1 << 24;
  run::Device device;
  const auto kind = kind_of(from);
  if (!kind) return wrong("kind", "gpu, node, switch, meter, cpu or port");
  device.kind = *kind;
  const bool others = from.at_key("host").error() != simdjson::NO_SUCH_FIELD;
  device.host = host;
  if (others) {
    ERGOMETER_ASSIGN(device.host, name(from, "host"));
  }
  ERGOMETER_ASSIGN(device.index, whole_or(from, "index", -1, 0, kMost));
  ERGOMETER_ASSIGN(device.rank, whole_or(from, "rank", -1, 0, kMost));
  ERGOMETER_ASSIGN(device.name, text_or_none(from, "name"));
  ERGOMETER_ASSIGN(device.uuid, text_or_none(from, "uuid"));
  ERGOMETER_ASSIGN(device.pci_bus_id, text_or_none(from, "pci_bus_id"));
  return device;
}

/// As it is kept; empty: there is none.
Result<std::string> read_prediction(const object& from) {
  auto found = from.at_key("prediction");
  if (found.error() == simdjson::NO_SUCH_FIELD) return std::string();
  const auto read = run::parse_prediction(simdjson::minify(found.value()));
  if (!read) return input_error(read.error().message);
  return run::prediction_json(*read);
}

Result<Push> read_head(const object& from) {
  Push push;
  ERGOMETER_TRY(whole(from, "ergometer_push", 1, 1));
  ERGOMETER_ASSIGN(push.recorder, name(from, "recorder"));
  ERGOMETER_ASSIGN(push.host, name(from, "host"));
  ERGOMETER_ASSIGN(push.job, name(from, "job"));
  ERGOMETER_ASSIGN(push.started_ns, whole_or(from, "started_ns", 0, 0, kLatestNs));
  ERGOMETER_ASSIGN(push.prediction, read_prediction(from));
  array devices;
  if (from.at_key("devices").get_array().get(devices) != simdjson::SUCCESS ||
      devices.size() > PushLimits::kDevices)
    return wrong("devices", fmt::format("a list of at most {} devices", PushLimits::kDevices));
  for (const element& item : devices) {
    object device;
    if (item.get_object().get(device) != simdjson::SUCCESS)
      return wrong("devices", "an object each");
    ERGOMETER_ASSIGN(run::Device read, read_device(device, push.host));
    push.devices.push_back(std::move(read));
  }
  return push;
}

using Metrics = std::vector<std::optional<run::Metric>>;

Result<Metrics> read_metrics(const object& from) {
  Metrics metrics;
  array list;
  if (from.at_key("metrics").get_array().get(list) != simdjson::SUCCESS ||
      list.size() > PushLimits::kDevices)
    return wrong("metrics", "a list of names");
  for (const element& item : list) {
    std::string_view text;
    if (item.get_string().get(text) != simdjson::SUCCESS) return wrong("metrics", "a name each");
    metrics.push_back(run::metric_of(text));
  }
  return metrics;
}

/// [device, nanoseconds behind the batch's time, place of a metric, value, place, value ...]
bool read_row(const array& row, size_t devices, const Metrics& metrics, PushBatch& batch) {
  auto at = row.begin();
  const auto end = row.end();
  uint64_t device = 0;
  int64_t behind_ns = 0;
  const auto next = [&](auto get) { return at != end && get(*at) && (++at, true); };
  if (!next([&](element e) { return e.get_uint64().get(device) == simdjson::SUCCESS; }) ||
      !next([&](element e) { return e.get_int64().get(behind_ns) == simdjson::SUCCESS; }) ||
      device >= devices || behind_ns < -kLatestNs || behind_ns > kLatestNs)
    return false;
  const int64_t time_ns = batch.clock.time_ns + behind_ns;
  if (time_ns < 0 || time_ns > kLatestNs) return false;
  while (at != end) {
    uint64_t place = 0;
    double value = 0;
    if (!next([&](element e) { return e.get_uint64().get(place) == simdjson::SUCCESS; }) ||
        !next([&](element e) { return e.get_double().get(value) == simdjson::SUCCESS; }) ||
        place >= metrics.size())
      return false;
    if (!metrics[place]) continue;
    if (run::metric_info(*metrics[place]).reads(value))
      batch.readings.push_back({device, *metrics[place], {time_ns, value}});
  }
  return true;
}

/// [number, seconds, nanoseconds behind the batch's time, tokens a second and GPU]
bool read_step(const array& row, PushBatch& batch) {
  constexpr double kMostSeconds = 1e6, kMostTokens = 1e15;
  run::TrainingStep step;
  int64_t behind_ns = 0;
  if (row.size() != 4 || row.at(0).get_int64().get(step.number) != simdjson::SUCCESS ||
      row.at(1).get_double().get(step.seconds) != simdjson::SUCCESS ||
      row.at(2).get_int64().get(behind_ns) != simdjson::SUCCESS ||
      row.at(3).get_double().get(step.tokens_per_s_per_gpu) != simdjson::SUCCESS ||
      behind_ns < -kLatestNs || behind_ns > kLatestNs)
    return false;
  step.end_ns = batch.clock.time_ns + behind_ns;
  if (step.number < 0 || step.end_ns < 0 || step.end_ns > kLatestNs) return false;
  if (step.seconds > 0 && step.seconds <= kMostSeconds && step.tokens_per_s_per_gpu >= 0 &&
      step.tokens_per_s_per_gpu <= kMostTokens)
    batch.steps.push_back(step);
  return true;
}

Result<void> read_steps(const object& from, PushBatch& batch) {
  const auto found = from.at_key("steps");
  if (found.error() == simdjson::NO_SUCH_FIELD) return {};
  array rows;
  if (found.get_array().get(rows) != simdjson::SUCCESS || rows.size() > PushLimits::kSteps)
    return wrong("steps", fmt::format("a list of at most {} steps", PushLimits::kSteps));
  for (const element& item : rows) {
    array row;
    if (item.get_array().get(row) != simdjson::SUCCESS || !read_step(row, batch))
      return wrong("steps", "[number, seconds, nanoseconds, tokens/s] each");
  }
  return {};
}

Result<PushBatch> read_batch(const object& from, size_t devices) {
  PushBatch batch;
  ERGOMETER_ASSIGN(batch.sequence, whole(from, "sequence", 1, kLatestNs));
  ERGOMETER_ASSIGN(batch.clock.time_ns, whole(from, "time_ns", 0, kLatestNs));
  ERGOMETER_ASSIGN(batch.clock.monotonic_ns, whole(from, "monotonic_ns", 0, kLatestNs));
  ERGOMETER_ASSIGN(batch.clock.max_error_ns, whole_or(from, "max_error_ns", 0, 0, kLatestNs));
  bool end = false;
  batch.end = from.at_key("end").get_bool().get(end) == simdjson::SUCCESS && end;
  ERGOMETER_ASSIGN(const Metrics metrics, read_metrics(from));
  array rows;
  if (from.at_key("rows").get_array().get(rows) != simdjson::SUCCESS)
    return wrong("rows", "a list of rows");
  for (const element& item : rows) {
    array row;
    if (item.get_array().get(row) != simdjson::SUCCESS || !read_row(row, devices, metrics, batch))
      return wrong("rows",
                   "[device, nanoseconds, metric, value, ...] each, of devices and metrics "
                   "that are listed");
    if (batch.readings.size() > PushLimits::kCells)
      return wrong("rows", fmt::format("at most {} values", PushLimits::kCells));
  }
  ERGOMETER_TRY(read_steps(from, batch));
  return batch;
}

Result<object> read_line(simdjson::dom::parser& parser, std::string_view line) {
  object read;
  const auto problem = parser.parse(line.data(), line.size()).get_object().get(read);
  if (problem != simdjson::SUCCESS)
    return input_error("is no JSON object: {}", simdjson::error_message(problem));
  return read;
}

Result<void> add_line(simdjson::dom::parser& parser, std::string_view line, bool first,
                      Push& push) {
  ERGOMETER_ASSIGN(const object read, read_line(parser, line));
  if (first) {
    ERGOMETER_ASSIGN(push, read_head(read));
    return {};
  }
  if (push.batches.size() >= PushLimits::kBatches)
    return input_error("at most {} batches are taken", PushLimits::kBatches);
  ERGOMETER_ASSIGN(PushBatch batch, read_batch(read, push.devices.size()));
  if (!push.batches.empty() && batch.sequence <= push.batches.back().sequence)
    return wrong("sequence", "a higher number than the line before has");
  push.batches.push_back(std::move(batch));
  return {};
}

}  // namespace

struct PushReader::State {
  State() : parser(PushLimits::kBytes) {
    if (parser.allocate(PushLimits::kBytes, kDepth) != simdjson::SUCCESS) throw std::bad_alloc();
  }
  simdjson::dom::parser parser;
};

PushReader::PushReader() : state_(std::make_unique<State>()) {}
PushReader::PushReader(PushReader&&) noexcept = default;
PushReader::~PushReader() = default;

Result<Push> PushReader::read(std::string_view body) {
  Push push;
  for (size_t number = 1; !body.empty(); ++number) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
    if (auto added = add_line(state_->parser, line, number == 1, push); !added)
      return input_error("line {}: {}", number, added.error().message);
  }
  if (push.recorder.empty()) return input_error("line 1: is missing");
  return push;
}

}  // namespace ergometer::serve
