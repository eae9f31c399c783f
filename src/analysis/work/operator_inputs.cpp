#include "analysis/work/operator_inputs.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace ergometer::analysis {
namespace {

/// The elements of a JSON list as text, strings without their quotes; nothing when it is none.
std::optional<std::vector<std::string_view>> elements_of(std::string_view list) {
  if (list.size() < 2 || list.front() != '[' || list.back() != ']') return std::nullopt;
  list = list.substr(1, list.size() - 2);
  std::vector<std::string_view> elements;
  int depth = 0;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '"' && (i == 0 || list[i - 1] != '\\')) quoted = !quoted;
    if (quoted && i < list.size()) continue;
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ',' || depth > 0) continue;
    std::string_view element = list.substr(start, i - start);
    while (!element.empty() && element.front() <= ' ') element.remove_prefix(1);
    while (!element.empty() && element.back() <= ' ') element.remove_suffix(1);
    if (element.size() >= 2 && element.front() == '"' && element.back() == '"')
      element = element.substr(1, element.size() - 2);
    else if (element.empty() && i == list.size())
      break;
    elements.push_back(element);
    start = i + 1;
  }
  return elements;
}

std::vector<std::string_view> list_at(const run::RankTrace& trace, uint32_t text) {
  if (text == run::GpuEvent::kNone) return {};
  return elements_of(trace.names[text]).value_or(std::vector<std::string_view>{});
}

/// A tensor's shape, or a list's that holds several of them.
void read_dims(std::string_view text, OperatorInput& input) {
  const auto inner = elements_of(text);
  if (!inner || inner->empty()) return;
  if (!inner->front().starts_with('[')) {
    input.dims = integers_in(text);
    return;
  }
  double elements = 0;
  for (const std::string_view tensor : *inner) elements += product(integers_in(tensor));
  if (elements < 9e15) input.list_elements = static_cast<int64_t>(elements);
}

}  // namespace

double OperatorInput::elements() const {
  return list_elements > 0 ? static_cast<double>(list_elements) : product(dims);
}

double bytes_of_dtype(std::string_view dtype) {
  constexpr std::array kBytes = std::to_array<std::pair<std::string_view, double>>({
      {"float", 4},
      {"c10::Half", 2},
      {"c10::BFloat16", 2},
      {"double", 8},
      {"long", 8},
      {"long int", 8},
      {"int", 4},
      {"short", 2},
      {"short int", 2},
      {"signed char", 1},
      {"unsigned char", 1},
      {"bool", 1},
      {"c10::complex<float>", 8},
  });
  for (const auto& [name, bytes] : kBytes)
    if (dtype == name) return bytes;
  return dtype.starts_with("c10::Float8") ? 1 : 0;
}

std::vector<int64_t> integers_in(std::string_view list) {
  std::vector<int64_t> numbers;
  for (const std::string_view element :
       elements_of(list).value_or(std::vector<std::string_view>{})) {
    int64_t number = 0;
    const char *const begin = element.data(), *const end = begin + element.size();
    const auto [at, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || at != end || number < 0) return {};
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<OperatorInput> inputs_of(const run::RankTrace& trace, const run::Operator& op) {
  const auto shapes = list_at(trace, op.shapes), dtypes = list_at(trace, op.dtypes),
             values = list_at(trace, op.values);
  std::vector<OperatorInput> inputs(shapes.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    read_dims(shapes[i], inputs[i]);
    if (i < dtypes.size()) inputs[i].dtype = dtypes[i];
    inputs[i].element_bytes = bytes_of_dtype(inputs[i].dtype);
    if (i < values.size()) inputs[i].value = values[i];
  }
  return inputs;
}

}  // namespace ergometer::analysis
