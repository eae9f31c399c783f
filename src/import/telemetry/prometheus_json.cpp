#include <simdjson.h>

#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;

/// Reads results in Prometheus' form: `metric` with labels, `value` or `values` of [time, "value"].
class ResultReader {
 public:
  explicit ResultReader(LogBuilder& log) : log_(log), samples_(log) {}
  simdjson::error_code read(ondemand::document& document);
  void finish() { samples_.finish(); }

 private:
  simdjson::error_code read_object(ondemand::object object);
  simdjson::error_code read_list(ondemand::array list);
  simdjson::error_code read_labels(ondemand::object metric);
  simdjson::error_code read_pairs(ondemand::array pairs);
  simdjson::error_code read_pair(ondemand::array pair);

  LogBuilder& log_;
  ExportedSamples samples_;
  std::string name_;
  std::vector<Label> labels_;
};

simdjson::error_code ResultReader::read_labels(ondemand::object metric) {
  name_.clear();
  labels_.clear();
  for (auto field : metric) {
    std::string_view key, text;
    if (const auto error = field.unescaped_key().get(key)) return error;
    std::string own_key(key);
    if (const auto error = field.value().get_string().get(text)) return error;
    if (own_key == "__name__") {
      name_ = text;
    } else {
      labels_.push_back({std::move(own_key), std::string(text)});
    }
  }
  return simdjson::SUCCESS;
}

simdjson::error_code ResultReader::read_pair(ondemand::array pair) {
  std::string_view text;
  std::string own_time;
  size_t at = 0;
  for (auto element : pair) {
    if (at == 0) {
      ondemand::value value;
      if (const auto error = element.get(value)) return error;
      own_time = trim(value.raw_json_token());
      while (!own_time.empty() && (own_time.back() == '\n' || own_time.back() == ' '))
        own_time.pop_back();
    } else if (const auto error = element.get_string().get(text)) {
      return error;
    }
    ++at;
  }
  const auto time_ns = seconds_to_ns(own_time);
  const auto value = number(text);
  if (at != 2 || !time_ns || *time_ns < 0 || !value) {
    log_.drop("a value that is not [seconds, \"number\"]");
  } else {
    samples_.add(name_, labels_, *time_ns, *value);
  }
  return simdjson::SUCCESS;
}

simdjson::error_code ResultReader::read_pairs(ondemand::array pairs) {
  for (auto element : pairs) {
    ondemand::array pair;
    if (const auto error = element.get_array().get(pair)) return error;
    if (const auto error = read_pair(pair)) return error;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code ResultReader::read_list(ondemand::array list) {
  for (auto element : list) {
    ondemand::object object;
    if (const auto error = element.get_object().get(object)) return error;
    if (const auto error = read_object(object)) return error;
  }
  return simdjson::SUCCESS;
}

/// A result, or what results are wrapped in: `data`, `result`.
simdjson::error_code ResultReader::read_object(ondemand::object object) {
  for (auto field : object) {
    std::string_view key;
    if (const auto error = field.unescaped_key().get(key)) return error;
    ondemand::object inner;
    ondemand::array list;
    if (key == "metric") {
      if (const auto error = field.value().get_object().get(inner)) return error;
      if (const auto error = read_labels(inner)) return error;
    } else if (key == "values") {
      if (const auto error = field.value().get_array().get(list)) return error;
      if (const auto error = read_pairs(list)) return error;
    } else if (key == "value") {
      if (const auto error = field.value().get_array().get(list)) return error;
      if (const auto error = read_pair(list)) return error;
    } else if (key == "data") {
      if (const auto error = field.value().get_object().get(inner)) return error;
      if (const auto error = read_object(inner)) return error;
    } else if (key == "result") {
      if (const auto error = field.value().get_array().get(list)) return error;
      if (const auto error = read_list(list)) return error;
    }
  }
  return simdjson::SUCCESS;
}

simdjson::error_code ResultReader::read(ondemand::document& document) {
  ondemand::json_type type{};
  if (const auto error = document.type().get(type)) return error;
  if (type == ondemand::json_type::array) {
    ondemand::array list;
    if (const auto error = document.get_array().get(list)) return error;
    return read_list(list);
  }
  ondemand::object object;
  if (const auto error = document.get_object().get(object)) return error;
  return read_object(object);
}

}  // namespace

bool is_prometheus_json(std::string_view head) {
  std::string dense;
  constexpr size_t kEnough = 256;
  for (const char c : head) {
    if (dense.size() == kEnough) break;
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') dense += c;
  }
  return dense.find("\"resultType\":") != std::string::npos ||
         dense.starts_with("[{\"metric\":{") || dense.starts_with("{\"metric\":{");
}

Result<void> read_prometheus_json(std::string_view text, LogBuilder& log) {
  const simdjson::padded_string padded(text);
  ondemand::parser parser;
  ondemand::document document;
  ResultReader reader(log);
  auto error = parser.iterate(padded).get(document);
  if (error == simdjson::SUCCESS) error = reader.read(document);
  if (error != simdjson::SUCCESS)
    return input_error(
        "{}: found JSON that breaks off or is malformed ({}), allowed: Prometheus' "
        "answer to a query",
        log.file(), simdjson::error_message(error));
  reader.finish();
  return {};
}

}  // namespace ergometer::importer
