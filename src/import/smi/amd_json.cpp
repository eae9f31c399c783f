#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"
#include "import/smi/amd_value.h"
#include "import/smi/rounds.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

// What `rocm-smi --json` and `amd-smi metric --json` or `amd-smi monitor --json` print, once or
// again and again, a document behind the other:
//
//   {"card0": {"Temperature (Sensor junction) (C)": "62.0", "sclk clock speed:": "(1700Mhz)"},
//    "system": {"Driver version": "6.8"}}
//
//   [{"timestamp": 1741082272, "gpu": 0,
//     "power": {"socket_power": {"value": 655, "unit": "W"}},
//     "clock": {"gfx_0": {"clk": {"value": 2100, "unit": "MHz"}}}}]
//
// Newer ones put amd-smi's list into {"gpu_data": [...]}. Only amd-smi says when, and only while it
// watches.

using run::Metric;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr size_t kDeepestMember = 8;

/// The members of amd-smi's metric as its table calls them, where its last word alone is another
/// column's or none.
struct AmdMember {
  std::string_view path, column;
};
constexpr std::array kAmdMembers =
    std::to_array<AmdMember>({{"clock.gfx_0.clk", "gfx_0_clk"},
                              {"clock.mem_0.clk", "mem_0_clk"},
                              {"power.socket_power", "socket_power"},
                              {"power.current_socket_power", "current_socket_power"},
                              {"power.average_socket_power", "average_socket_power"},
                              {"temperature.edge", "edge"},
                              {"temperature.hotspot", "hotspot"},
                              {"temperature.mem", "memory_temperature"},
                              {"usage.gfx_activity", "gfx_activity"},
                              {"usage.umc_activity", "umc_activity"}});

/// The metric of a member by its path. At the top stand rocm-smi's columns, and amd-smi monitor's.
std::optional<Metric> metric_of(const std::string& path) {
  const auto* const member = std::ranges::find(kAmdMembers, path, &AmdMember::path);
  if (member != kAmdMembers.end()) return amd_metric(member->column);
  return path.find('.') == path.npos ? amd_metric(base::lower(path)) : std::nullopt;
}

/// "655 W" of {"value": 655, "unit": "W"}, else the value as a text; nothing of other objects and
/// of lists.
std::optional<std::string> scalar_text(element value) {
  if (std::string_view text; value.get(text) == simdjson::SUCCESS) return std::string(text);
  if (value.is_number() || value.is_bool() || value.is_null())
    return value.is_null() ? "N/A" : std::string(simdjson::minify(value));
  element inner;
  if (!value.is_object() || value["value"].get(inner) != simdjson::SUCCESS || inner.is_object() ||
      inner.is_array())
    return std::nullopt;
  std::string_view unit;
  const bool has_unit = value["unit"].get(unit) == simdjson::SUCCESS;
  return scalar_text(inner).value_or("") + (has_unit ? fmt::format(" {}", unit) : "");
}

/// Where the document that begins at `at` ends, past its last bracket; npos where it is cut off.
size_t end_of_document(std::string_view text, size_t at) {
  size_t depth = 0;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      at += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return text.npos;
}

class AmdJsonReader {
 public:
  explicit AmdJsonReader(LogBuilder& log) : log_(log), rounds_(log.options().sample_period_s) {}
  Result<void> read(std::string_view text);

 private:
  Result<void> read_document(std::string_view text);
  Result<void> read_list(element list);
  Result<void> read_gpu(int64_t gpu, object members);
  void collect(object members, const std::string& before, size_t depth);
  tl::unexpected<base::Error> error(std::string_view key, std::string_view found,
                                    std::string_view allowed) const {
    return input_error("{}:{}: key '{}': found '{}', allowed: {}", log_.file(), line_, key, found,
                       allowed);
  }

  struct Told {
    std::string path, value;
    Metric metric;
  };
  LogBuilder& log_;
  simdjson::dom::parser parser_;
  Rounds rounds_;
  int64_t line_ = 1;  ///< where the document begins
  std::optional<bool> timed_;
  std::map<std::string, int64_t> kinds_;  ///< of documents, by what they tell
  std::vector<Told> told_;                ///< of the GPU that is being read
  std::string kind_;                      ///< what its document tells: the paths
  int64_t readings_ = 0;
};

void AmdJsonReader::collect(object members, const std::string& before, size_t depth) {
  for (const auto [key, value] : members) {
    const std::string path = before + std::string(key);
    const auto text = scalar_text(value);
    if (!text) {
      if (object inner; value.get(inner) == simdjson::SUCCESS && depth < kDeepestMember)
        collect(inner, path + ".", depth + 1);
      else
        log_.drop(fmt::format("key '{}' is not used", path));
      continue;
    }
    const auto metric = metric_of(path);
    if (!metric) {
      if (path != "gpu" && path != "timestamp")
        log_.drop(fmt::format("key '{}' is not used", path));
      continue;
    }
    kind_ += path + "\n";
    // Of two ways to tell the same the first one counts that tells it.
    const auto same = std::ranges::find(told_, *metric, &Told::metric);
    const auto is_missing = [](const std::string& said) {
      return read_cell(unbracketed(said)).kind == Cell::Kind::kMissing;
    };
    if (same == told_.end())
      told_.push_back({path, *text, *metric});
    else if (is_missing(same->value))
      *same = {path, *text, *metric};
    else
      log_.drop(fmt::format("key '{}' is not used", path));
  }
}

Result<void> AmdJsonReader::read_gpu(int64_t gpu, object members) {
  told_.clear();
  kind_.clear();
  collect(members, "", 0);
  element stamp;
  const bool timed = members["timestamp"].get(stamp) == simdjson::SUCCESS;
  if (timed_.value_or(timed) != timed)
    return input_error(
        "{}:{}: found documents with a timestamp and without, allowed: one kind in a file",
        log_.file(), line_);
  timed_ = timed;
  int64_t time_ns = 0;
  if (timed) {
    const std::string said = scalar_text(stamp).value_or("");
    const auto time = time_to_ns(said);
    if (!time || *time < 0)
      return error("timestamp", said, "seconds since 1970, or a time such as 2025-03-04T10:11:12");
    time_ns = *time;
  } else {
    // Documents of other keys that are printed in turn belong to one round.
    const int64_t number = kinds_.try_emplace(kind_, std::ssize(kinds_)).first->second;
    time_ns = rounds_.time_ns(gpu + number * kMostCards);
  }
  const size_t device = log_.gpu_number(gpu);
  for (const Told& it : told_) {
    const std::string allowed = add_amd_value(it.value, it.metric, it.path, time_ns, device, log_);
    if (!allowed.empty()) return error(it.path, unbracketed(it.value), allowed);
    ++readings_;
  }
  return {};
}

/// amd-smi's: an object a GPU.
Result<void> AmdJsonReader::read_list(element list) {
  for (const element item : simdjson::dom::array(list)) {
    object members;
    element named;
    const bool names =
        item.get(members) == simdjson::SUCCESS && members["gpu"].get(named) == simdjson::SUCCESS;
    const std::string said = names ? scalar_text(named).value_or("") : "";
    const auto gpu = amd_card(said);
    if (!gpu) return error("gpu", names ? said : "nothing", "a GPU's number");
    ERGOMETER_TRY(read_gpu(*gpu, members));
  }
  return {};
}

Result<void> AmdJsonReader::read_document(std::string_view text) {
  const simdjson::padded_string padded(text);
  element document;
  if (const auto problem = parser_.parse(padded).get(document); problem != simdjson::SUCCESS)
    return input_error(
        "{}:{}: found JSON that is malformed ({}), allowed: a document of rocm-smi or amd-smi",
        log_.file(), line_, simdjson::error_message(problem));
  if (document.is_array()) return read_list(document);
  object members;
  if (document.get(members) != simdjson::SUCCESS) return {};
  if (element list; members["gpu_data"].get(list) == simdjson::SUCCESS && list.is_array())
    return read_list(list);
  for (const auto [key, value] : members) {
    object card;
    const auto gpu = key.starts_with("card") ? amd_card(key) : std::nullopt;
    if (gpu && value.get(card) == simdjson::SUCCESS) {
      ERGOMETER_TRY(read_gpu(*gpu, card));
    } else {
      log_.drop(fmt::format("key '{}' is not used", key));
    }
  }
  return {};
}

Result<void> AmdJsonReader::read(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end_of_line = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, end_of_line - at));
    if (!line.starts_with('{') && !line.starts_with('[')) {
      if (!line.empty()) log_.drop("a line of text between the documents");
      at = end_of_line + 1;
      ++line_;
      continue;
    }
    const size_t begin = text.find(line.front(), at), end = end_of_document(text, begin);
    if (end == text.npos) {
      log_.drop("a document that is cut off at the end of the file");
      break;
    }
    ERGOMETER_TRY(read_document(text.substr(begin, end - begin)));
    line_ += std::ranges::count(text.substr(at, end - at), '\n');
    at = end;
  }
  if (readings_ == 0)
    return input_error(
        "{}: found JSON of rocm-smi or amd-smi without a reading of power, temperature, clocks or "
        "utilization, allowed: what rocm-smi --json, amd-smi metric --json or amd-smi monitor "
        "--json prints",
        log_.file());
  if (!timed_.value_or(true)) note_untimed("a guess", log_);
  return {};
}

/// Whether a document begins as these tools' do: its first keys, spaces left out.
bool begins_as_amd(std::string_view text) {
  constexpr size_t kEnough = 256;
  std::string packed;
  for (const char c : text.substr(0, kEnough))
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') packed += c;
  const std::string_view start = packed;
  constexpr std::string_view kCard = "{\"card", kStamp = "[{\"timestamp\":", kGpu = "\"gpu\":";
  if (start.starts_with("[{\"gpu\":") || start.starts_with("{\"gpu_data\":[")) return true;
  if (start.starts_with(kStamp)) {
    const size_t next = start.find(",\"", kStamp.size());
    return next != start.npos && start.substr(next + 1).starts_with(kGpu);
  }
  const size_t digits = start.find_first_not_of("0123456789", kCard.size());
  return start.starts_with(kCard) && digits != start.npos && digits > kCard.size() &&
         start.substr(digits).starts_with("\":{");
}

}  // namespace

bool is_amd_json(std::string_view text) {
  constexpr int kLinesAbove = 16;
  size_t at = 0;
  for (int i = 0; i < kLinesAbove && at < text.size(); ++i) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, end - at));
    if (line.starts_with('{') || line.starts_with('[')) return begins_as_amd(text.substr(at));
    at = end + 1;
  }
  return false;
}

Result<void> read_amd_json(std::string_view text, LogBuilder& log) {
  return AmdJsonReader(log).read(text);
}

}  // namespace ergometer::importer
