#include "run/study_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "run/study_values.h"

namespace ergometer::run {
namespace {

using Json = nlohmann::json;

/// JSON has no NaN.
Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::isfinite(value) ? Json(value) : Json());
  return list;
}

/// Typed reads out of a document that anyone may have written: false once something is not what it
/// must be.
class Reader {
 public:
  explicit Reader(const std::string& text) : json_(Json::parse(text, nullptr, false)) {
    ok_ = json_.is_object();
  }
  bool ok() const { return ok_; }

  void read(const char* name, std::string& text) {
    if (const Json* value = member(name, Json::value_t::string)) text = value->get<std::string>();
  }
  void read(const char* name, bool& truth) {
    if (const Json* value = member(name, Json::value_t::boolean)) truth = value->get<bool>();
  }
  void read(const char* name, std::vector<double>& list) {
    const Json* values = member(name, Json::value_t::array);
    if (values == nullptr) return;
    for (const Json& value : *values) {
      if (!value.is_number() && !value.is_null()) ok_ = false;
      list.push_back(value.is_number() ? value.get<double>()
                                       : std::numeric_limits<double>::quiet_NaN());
    }
  }
  void read(const char* name, std::vector<int64_t>& list) {
    const Json* values = member(name, Json::value_t::array);
    if (values == nullptr) return;
    for (const Json& value : *values) {
      if (!value.is_number_integer()) ok_ = false;
      list.push_back(value.is_number_integer() ? value.get<int64_t>() : -1);
    }
  }
  void read(const char* name, std::vector<std::string>& list) {
    if (const Json* values = member(name, Json::value_t::array))
      ok_ = ok_ && read_texts(*values, list);
  }
  void read(const char* name, std::map<std::string, std::string>& map) {
    if (const Json* values = member(name, Json::value_t::object))
      ok_ = ok_ && read_map(*values, map);
  }

  static bool read_texts(const Json& values, std::vector<std::string>& list) {
    if (!values.is_array()) return false;
    for (const Json& value : values) {
      if (!value.is_string()) return false;
      list.push_back(value.get<std::string>());
    }
    return true;
  }
  static bool read_map(const Json& values, std::map<std::string, std::string>& map) {
    if (!values.is_object()) return false;
    for (const auto& [name, value] : values.items()) {
      if (!value.is_string()) return false;
      map[name] = value.get<std::string>();
    }
    return true;
  }

 private:
  const Json* member(const char* name, Json::value_t type) {
    if (!ok_) return nullptr;
    const auto found = json_.find(name);
    ok_ = found != json_.end() && found->type() == type;
    return ok_ ? &*found : nullptr;
  }

  Json json_;
  bool ok_ = false;
};

constexpr int kStatusCount = 3;

}  // namespace

std::string to_json(const std::map<std::string, std::string>& texts) {
  return base::json_line(Json(texts));
}
std::string to_json(const std::vector<std::string>& texts) { return base::json_line(Json(texts)); }
std::string to_json(const std::vector<int64_t>& list) { return base::json_line(Json(list)); }

std::string to_json(const FigureAxis& axis) {
  return base::json_line(Json{{"title", axis.title},
                              {"unit", axis.unit},
                              {"logarithmic", axis.logarithmic},
                              {"categories", axis.categories}});
}

std::string to_json(const FigureSeries& series) {
  return base::json_line(Json{{"label", series.label},
                              {"x", numbers(series.x)},
                              {"y", numbers(series.y)},
                              {"low", numbers(series.low)},
                              {"high", numbers(series.high)},
                              {"value", numbers(series.value)},
                              {"point", series.point}});
}

std::string to_json(const StudyPoint& point) {
  return base::json_line(
      Json{{"id", point.id},
           {"family", point.family},
           {"axes", point.axes},
           {"settings", point.settings},
           {"status", std::string(1, static_cast<char>('0' + static_cast<int>(point.status)))},
           {"reason", point.reason},
           {"notes", point.notes},
           {"summary", point.summary_json}});
}

std::optional<std::map<std::string, std::string>> text_map(const std::string& json) {
  std::map<std::string, std::string> map;
  if (!Reader::read_map(Json::parse(json, nullptr, false), map)) return std::nullopt;
  return map;
}

std::optional<std::vector<std::string>> text_list(const std::string& json) {
  std::vector<std::string> list;
  if (!Reader::read_texts(Json::parse(json, nullptr, false), list)) return std::nullopt;
  return list;
}

std::optional<std::vector<int64_t>> number_list(const std::string& json) {
  const Json values = Json::parse(json, nullptr, false);
  if (!values.is_array()) return std::nullopt;
  std::vector<int64_t> list;
  for (const Json& value : values) {
    if (!value.is_number_integer()) return std::nullopt;
    list.push_back(value.get<int64_t>());
  }
  return list;
}

std::optional<FigureAxis> figure_axis(const std::string& json) {
  Reader reader(json);
  FigureAxis axis;
  reader.read("title", axis.title);
  reader.read("unit", axis.unit);
  reader.read("logarithmic", axis.logarithmic);
  reader.read("categories", axis.categories);
  if (!reader.ok()) return std::nullopt;
  return axis;
}

std::optional<FigureSeries> figure_series(const std::string& json) {
  Reader reader(json);
  FigureSeries series;
  reader.read("label", series.label);
  reader.read("x", series.x);
  reader.read("y", series.y);
  reader.read("low", series.low);
  reader.read("high", series.high);
  reader.read("value", series.value);
  reader.read("point", series.point);
  const size_t length = series.x.size();
  const auto fits = [&](const auto& column) { return column.empty() || column.size() == length; };
  if (!reader.ok() || series.y.size() != length || !fits(series.low) || !fits(series.high) ||
      !fits(series.value) || !fits(series.point))
    return std::nullopt;
  return series;
}

std::optional<StudyPoint> study_point(const std::string& json) {
  Reader reader(json);
  StudyPoint point;
  std::string status;
  reader.read("id", point.id);
  reader.read("family", point.family);
  reader.read("axes", point.axes);
  reader.read("settings", point.settings);
  reader.read("status", status);
  reader.read("reason", point.reason);
  reader.read("notes", point.notes);
  reader.read("summary", point.summary_json);
  if (!reader.ok() || status.size() != 1 || status[0] < '0' || status[0] >= '0' + kStatusCount)
    return std::nullopt;
  point.status = static_cast<PointStatus>(status[0] - '0');
  point.values = study_values(point.summary_json);
  return point;
}

}  // namespace ergometer::run
