#include <simdjson.h>

#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;

/// Reads results in Prometheus' form: `metric` with labels, `value` or `values` of [time, "value"].
/// simdjson throws at what is something else.
class ResultReader {
 public:
  explicit ResultReader(LogBuilder& log) : log_(log), samples_(log) {}
  void read(ondemand::document& document);
  void finish() { samples_.finish(); }

 private:
  void read_object(ondemand::object object);
  void read_list(ondemand::array list);
  void read_labels(ondemand::object metric);
  void read_pair(ondemand::array pair);

  LogBuilder& log_;
  ExportedSamples samples_;
  std::string name_;
  std::vector<Label> labels_;
};

void ResultReader::read_labels(ondemand::object metric) {
  name_.clear();
  labels_.clear();
  for (auto field : metric) {
    std::string key(std::string_view(field.unescaped_key()));
    const std::string_view text = field.value().get_string();
    if (key == "__name__") {
      name_ = text;
    } else {
      labels_.push_back({std::move(key), std::string(text)});
    }
  }
}

void ResultReader::read_pair(ondemand::array pair) {
  std::string_view text;
  std::string own_time;
  size_t at = 0;
  for (auto element : pair) {
    if (at == 0) {
      own_time = trim(element.value().raw_json_token());
      while (!own_time.empty() && (own_time.back() == '\n' || own_time.back() == ' '))
        own_time.pop_back();
    } else {
      text = element.get_string();
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
}

void ResultReader::read_list(ondemand::array list) {
  for (auto element : list) read_object(element.get_object());
}

/// A result, or what results are wrapped in: `data`, `result`.
void ResultReader::read_object(ondemand::object object) {
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    if (key == "metric") {
      read_labels(field.value().get_object());
    } else if (key == "values") {
      for (auto pair : ondemand::array(field.value().get_array())) read_pair(pair.get_array());
    } else if (key == "value") {
      read_pair(field.value().get_array());
    } else if (key == "data") {
      read_object(field.value().get_object());
    } else if (key == "result") {
      read_list(field.value().get_array());
    }
  }
}

void ResultReader::read(ondemand::document& document) {
  if (document.type() == ondemand::json_type::array)
    read_list(document.get_array());
  else
    read_object(document.get_object());
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
  ResultReader reader(log);
  try {
    ondemand::document document = parser.iterate(padded);
    reader.read(document);
  } catch (const simdjson::simdjson_error& failure) {
    return input_error(
        "{}: found JSON that breaks off or is malformed ({}), allowed: Prometheus' "
        "answer to a query",
        log.file(), failure.what());
  }
  reader.finish();
  return {};
}

}  // namespace ergometer::importer
