#include "page/columns.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ergometer::page {
double rounded(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return std::strtod(text.data(), nullptr);
}

void column(base::JsonWriter& json, std::string_view name, const std::vector<double>& values) {
  json.array(name, base::kOneLine, values, [&](double value) {
    std::isfinite(value) ? json.value(rounded(value)) : json.null();
  });
}

void column(base::JsonWriter& json, std::string_view name, const std::vector<int64_t>& values) {
  json.list(name, values, base::kOneLine);
}

void column(base::JsonWriter& json, std::string_view name, const std::vector<std::string>& values) {
  json.list(name, values, base::kOneLine);
}

void microsecond_column(base::JsonWriter& json, std::string_view name,
                        const std::vector<int64_t>& ns, int64_t zero_ns) {
  json.array(name, base::kOneLine, ns,
             [&](int64_t time) { json.value(microseconds(time - zero_ns)); });
}

}  // namespace ergometer::page
