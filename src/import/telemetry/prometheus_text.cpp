

#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"
#include "import/text/decimal.h"

namespace ergometer::importer {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

struct Line {
  std::string_view name, value, time;
  std::vector<Label> labels;
};

std::string_view take_name(std::string_view& rest) {
  size_t end = 0;
  while (end < rest.size() && is_name(rest[end])) ++end;
  const std::string_view name = rest.substr(0, end);
  rest.remove_prefix(end);
  return name;
}

void skip_blanks(std::string_view& rest) {
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
}

/// The text up to the closing quote, escapes resolved.
bool take_quoted(std::string_view& rest, std::string& text) {
  if (rest.empty() || rest.front() != '"') return false;
  for (size_t at = 1; at < rest.size(); ++at) {
    if (rest[at] == '"') {
      rest.remove_prefix(at + 1);
      return true;
    }
    if (rest[at] == '\\' && at + 1 < rest.size()) {
      ++at;
      text += rest[at] == 'n' ? '\n' : rest[at];
    } else {
      text += rest[at];
    }
  }
  return false;
}

bool take_labels(std::string_view& rest, std::vector<Label>& labels) {
  rest.remove_prefix(1);
  for (;;) {
    skip_blanks(rest);
    if (rest.empty()) return false;
    if (rest.front() == '}') {
      rest.remove_prefix(1);
      return true;
    }
    Label label;
    label.name = take_name(rest);
    skip_blanks(rest);
    if (label.name.empty() || rest.empty() || rest.front() != '=') return false;
    rest.remove_prefix(1);
    skip_blanks(rest);
    if (!take_quoted(rest, label.value)) return false;
    labels.push_back(std::move(label));
    skip_blanks(rest);
    if (!rest.empty() && rest.front() == ',') rest.remove_prefix(1);
  }
}

bool parse(std::string_view text, Line& line) {
  line.labels.clear();
  skip_blanks(text);
  line.name = take_name(text);
  if (line.name.empty()) return false;
  skip_blanks(text);
  if (!text.empty() && text.front() == '{' && !take_labels(text, line.labels)) return false;
  text = trim(text.substr(0, text.find(" # ")));  // an exemplar
  const size_t space = text.find_first_of(" \t");
  line.value = text.substr(0, space);
  line.time = space == std::string_view::npos ? std::string_view() : trim(text.substr(space));
  return !line.value.empty() && number(line.value).has_value() &&
         (line.time.empty() || number(line.time).has_value());
}

/// OpenMetrics states seconds, the older format milliseconds. One that was cut off has lost the end
/// that tells it from the other: then its times do, for what is 1973 or later in seconds is before
/// 1974 in milliseconds.
std::optional<int64_t> sample_time(std::string_view time, bool open_metrics) {
  constexpr double kYear1973S = 1e8, kYear1973Ms = 1e11;
  const double value = number(time).value_or(0);
  const bool seconds = open_metrics || (value >= kYear1973S && value < kYear1973Ms);
  return seconds ? seconds_to_ns(time) : nanoseconds(std::string(time) + "e3");
}

}  // namespace

bool is_prometheus_text(std::string_view text) {
  Lines lines(text);
  if (!lines.next()) return false;
  if (lines.line().starts_with("# HELP ") || lines.line().starts_with("# TYPE ")) return true;
  Line line;
  return parse(lines.line(), line) && !(line.name[0] >= '0' && line.name[0] <= '9');
}

Result<void> read_prometheus_text(std::string_view text, LogBuilder& log) {
  ExportedSamples samples(log);
  const std::string_view end = trim(text.substr(text.size() - std::min<size_t>(text.size(), 16)));
  const bool open_metrics = end.find("# EOF") != std::string_view::npos;
  Line line;
  int64_t bad = 0;
  for (Lines lines(text); lines.next();) {
    if (trim(lines.line()).front() == '#') continue;
    const bool is_sample = parse(trim(lines.line()), line);
    // The format ends every line with a line feed; a number that lost digits looks like another.
    if (lines.cut_off() && (!is_sample || samples.taken() > 0)) {
      log.drop("a line that is cut off at the end of the file");
      continue;
    }
    if (!is_sample) {
      if (samples.taken() == 0 && ++bad > 0)
        return input_error("{}:{}: found '{}', allowed: NAME{{LABEL=\"TEXT\",...}} VALUE [TIME]",
                           log.file(), lines.number(), trim(lines.line()).substr(0, 80));
      log.drop("a line that is no sample");
      continue;
    }
    int64_t time_ns = -1;
    if (!line.time.empty()) {
      const auto time = sample_time(line.time, open_metrics);
      if (!time || *time < 0) {
        log.drop("a time out of range");
        continue;
      }
      time_ns = *time;
    }
    samples.add(line.name, line.labels, time_ns, *number(line.value));
  }
  samples.finish();
  return {};
}

}  // namespace ergometer::importer
