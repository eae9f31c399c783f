#include "page/columns.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ergometer::page {
namespace {

template <class Values, class Write>
void write_column(base::JsonWriter& json, std::string_view name, const Values& values,
                  const Write& write) {
  json.key(name).begin_array(base::JsonWriter::Layout::kOneLine);
  for (const auto& value : values) write(value);
  json.end_array();
}

}  // namespace

double rounded(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return std::strtod(text.data(), nullptr);
}

void column(base::JsonWriter& json, std::string_view name, const std::vector<double>& values) {
  write_column(json, name, values, [&](double value) {
    if (std::isfinite(value))
      json.value(rounded(value));
    else
      json.null();
  });
}

void column(base::JsonWriter& json, std::string_view name, const std::vector<int64_t>& values) {
  write_column(json, name, values, [&](int64_t value) { json.value(value); });
}

void column(base::JsonWriter& json, std::string_view name, const std::vector<std::string>& values) {
  write_column(json, name, values, [&](const std::string& value) { json.value(value); });
}

void microsecond_column(base::JsonWriter& json, std::string_view name,
                        const std::vector<int64_t>& ns, int64_t zero_ns) {
  write_column(json, name, ns, [&](int64_t time) { json.value(microseconds(time - zero_ns)); });
}

}  // namespace ergometer::page
