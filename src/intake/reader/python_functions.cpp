#include "intake/reader/python_functions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/collection.h"
#include "base/text.h"
#include "intake/reader/python_operators.h"
#include "intake/reader/python_text.h"

namespace ergometer::intake {

namespace {

using Json = nlohmann::json;
using Value = PythonValues::Value;

Value to_whole(const Json& value) {
  if (const auto number = python_number(value)) return python_value(std::trunc(*number), true);
  if (!value.is_string()) return std::nullopt;
  const auto number = base::parse_integer(trimmed(value.get<std::string>()));
  return number ? Value(Json(*number)) : std::nullopt;
}

Value to_real(const Json& value) {
  if (const auto number = python_number(value)) return Json(*number);
  if (!value.is_string()) return std::nullopt;
  const auto number = base::parse_number(trimmed(value.get<std::string>()));
  return number ? Value(Json(*number)) : std::nullopt;
}

Value length(const Json& value) {
  if (value.is_string()) return Json(static_cast<int64_t>(value.get<std::string>().size()));
  return value.is_structured() ? Value(Json(static_cast<int64_t>(value.size()))) : std::nullopt;
}

Value extreme(const std::vector<Value>& items, bool most) {
  std::vector<Json> all;
  for (const Value& item : items) {
    if (!item) return std::nullopt;
    if (item->is_array() && items.size() == 1)
      all.assign(item->begin(), item->end());
    else
      all.push_back(*item);
  }
  if (all.empty() ||
      !std::ranges::all_of(all, [](const Json& it) { return python_number(it).has_value(); }))
    return std::nullopt;
  const auto less = [](const Json& a, const Json& b) {
    return *python_number(a) < *python_number(b);
  };
  return most ? *std::ranges::max_element(all, less) : *std::ranges::min_element(all, less);
}

Value dictionary_of(const PythonCall& call) {
  Json all = Json::object();
  if (!call.items.empty()) {
    if (!call.item(0) || !call.item(0)->is_object()) return std::nullopt;
    all = *call.item(0);
  }
  for (const auto& [key, value] : call.named)
    all[key] = value ? *value : Json(Json::value_t::discarded);
  return all;
}

Value path_of(const PythonCall& call) {
  Value all = call.item(0);
  for (size_t i = 1; i < call.items.size(); ++i) all = python_combined("/", all, call.item(i));
  return all;
}

Value next_whole(const PythonCall& call, bool down) {
  const auto number = call.item(0) ? python_number(*call.item(0)) : std::nullopt;
  if (!number || call.items.size() != 1) return std::nullopt;
  return python_value(down ? std::floor(*number) : std::ceil(*number), true);
}

Value rounded(const Json& value) {
  const auto number = python_number(value);
  return number ? python_value(std::nearbyint(*number), true) : std::nullopt;
}

Value magnitude(const Json& value) {
  const auto number = python_number(value);
  return number ? python_value(std::abs(*number), is_python_integer(value)) : std::nullopt;
}

Value truth(const Json& value) { return Json(python_truth(value)); }

struct OneArgument {
  std::string_view name;
  Value (*function)(const Json&);
};

/// getattr(torch, "bfloat16")
Value number_format(const PythonCall& call) {
  constexpr std::array kFormats =
      std::to_array<std::string_view>({"bfloat16", "float16", "float32", "half", "float"});
  const bool of_torch = call.items.size() == 2 && call.first == "torch";
  const Value name = of_torch ? call.item(1) : std::nullopt;
  const bool known =
      name && name->is_string() && base::contains(kFormats, name->get<std::string>());
  return known ? name : std::nullopt;
}

constexpr OneArgument kOneArgument[] = {
    {"int", to_whole}, {"float", to_real}, {"str", python_str}, {"bool", truth},
    {"len", length},   {"abs", magnitude}, {"round", rounded},
};

}  // namespace

Value PythonCall::item(size_t i) const { return i < items.size() ? items[i] : std::nullopt; }

bool python_function(std::string_view name, const PythonCall& call, Value& value) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return base::contains(names, name);
  };
  if (name == "dict") return value = dictionary_of(call), true;
  if (is({"min", "max"})) return value = extreme(call.items, name == "max"), true;
  if (is({"os.path.join", "Path", "pathlib.Path", "PosixPath"})) return value = path_of(call), true;
  if (is({"math.floor", "floor"})) return value = next_whole(call, true), true;
  if (is({"math.ceil", "ceil"})) return value = next_whole(call, false), true;
  // What is predicted runs on GPUs.
  if (is({"torch.cuda.is_available", "cuda.is_available"}) && call.items.empty())
    return value = Json(true), true;
  if (name == "getattr") {
    value = number_format(call);
    return value.has_value();
  }
  const auto* found = std::ranges::find(kOneArgument, name, &OneArgument::name);
  if (found == std::end(kOneArgument)) return false;
  const bool one = call.item(0) && call.items.size() == 1 && call.named.empty();
  value = one ? found->function(*call.item(0)) : std::nullopt;
  return true;
}

Value python_method(const Json& self, std::string_view name, const PythonCall& call) {
  const bool by_text = call.item(0) && call.item(0)->is_string();
  if (self.is_object() && name == "get" && by_text) {
    const auto key = call.item(0)->get<std::string>();
    if (!self.contains(key)) return call.items.size() > 1 ? call.item(1) : Value(Json(nullptr));
    return self[key].is_discarded() ? std::nullopt : Value(self[key]);
  }
  if (!self.is_string()) return std::nullopt;
  const auto text = self.get<std::string>();
  if (name == "lower") return Json(base::lower(text));
  if (name == "upper") {
    std::string upper = text;
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
    return Json(upper);
  }
  if (name == "strip" && call.items.empty()) return Json(trimmed(text));
  if (name == "startswith" && by_text)
    return Json(text.starts_with(call.item(0)->get<std::string>()));
  if (name == "endswith" && by_text) return Json(text.ends_with(call.item(0)->get<std::string>()));
  if (name == "split" && by_text && call.item(0)->get<std::string>().size() == 1)
    return Json(base::split(text, call.item(0)->get<std::string>()[0]));
  return std::nullopt;
}

}  // namespace ergometer::intake
