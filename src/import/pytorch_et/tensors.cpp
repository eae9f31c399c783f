#include "import/pytorch_et/tensors.h"

#include <algorithm>
#include <array>
#include <optional>

namespace ergometer::importer {
namespace {

using ValueKind = TraceValue::Kind;

bool saturated_add(int64_t& sum, int64_t more) {
  if (!__builtin_add_overflow(sum, more, &sum)) return true;
  sum = INT64_MAX;
  return false;
}

bool is_tensor(const TraceValue& value) {
  constexpr size_t kNumbers = 5;
  return value.kind == ValueKind::kList && value.list.size() == kNumbers + 1 &&
         value.list.back().kind == ValueKind::kText &&
         std::all_of(value.list.begin(), value.list.end() - 1, [](const TraceValue& v) {
           return v.kind == ValueKind::kNumber && v.number >= 0;
         });
}

/// The shape of one tensor: a list of whole numbers.
bool is_shape(const TraceValue& value) {
  return value.kind == ValueKind::kList && !value.list.empty() &&
         value.list.front().kind == ValueKind::kNumber;
}

bool holds_shape(const TraceValue& value) {
  return is_shape(value) || std::ranges::any_of(value.list, is_shape);
}

std::string shape_text(const TraceValue& value) {
  if (!holds_shape(value)) return "[]";
  std::string text;
  for (const TraceValue& entry : value.list)
    text += (text.empty() ? "" : ", ") +
            (entry.kind == ValueKind::kNumber ? std::to_string(entry.number) : shape_text(entry));
  return "[" + text + "]";
}

std::string_view type_word(std::string_view type) {
  constexpr std::string_view kTensor = "Tensor(";
  if (type.starts_with(kTensor) && type.ends_with(')'))
    return type.substr(kTensor.size(), type.size() - kTensor.size() - 1);
  if (type.starts_with("GenericList[Tensor")) return "TensorList";
  if (type.starts_with("GenericList[")) return "ScalarList";
  return type == "Int" || type == "Double" || type == "Bool" ? "Scalar" : "";
}

std::optional<int64_t> product(std::initializer_list<int64_t> factors) {
  int64_t all = 1;
  for (const int64_t factor : factors)
    if (factor < 0 || __builtin_mul_overflow(all, factor, &all)) return std::nullopt;
  return all;
}

/// Which of its arguments a matrix product multiplies, by the operator's name.
struct Product {
  std::string_view name;
  size_t first;
};
constexpr std::array kProducts = std::to_array<Product>({{"aten::mm", 0},
                                                         {"aten::addmm", 1},
                                                         {"aten::bmm", 0},
                                                         {"aten::baddbmm", 1},
                                                         {"aten::_scaled_mm", 0}});

}  // namespace

int64_t StorageSizes::add(const std::vector<TraceValue>& values) {
  constexpr size_t kStorage = 1, kOffset = 2, kElements = 3, kBytesOfOne = 4;
  int64_t sum = 0;
  for (const TraceValue& value : values) {
    if (!is_tensor(value)) {
      if (value.kind == ValueKind::kList) saturated_add(sum, add(value.list));
      continue;
    }
    const auto bytes = product({value.list[kElements].number, value.list[kBytesOfOne].number});
    int64_t elements = value.list[kElements].number;
    saturated_add(elements, value.list[kOffset].number);
    const auto end = product({elements, value.list[kBytesOfOne].number});
    if (!bytes || !end) continue;
    saturated_add(sum, *bytes);
    int64_t& size = sizes_[value.list[kStorage].number];
    size = std::max(size, *end);
  }
  return sum;
}

int64_t StorageSizes::bytes() const {
  int64_t sum = 0;
  for (const auto& [storage, size] : sizes_) saturated_add(sum, size);
  return sum;
}

std::string shapes_text(const std::vector<TraceValue>& shapes) {
  std::string text;
  for (const TraceValue& shape : shapes) text += (text.empty() ? "" : ", ") + shape_text(shape);
  return "[" + text + "]";
}

std::string types_text(const std::vector<TraceValue>& types) {
  std::string text;
  for (const TraceValue& type : types) {
    text += text.empty() ? "\"" : ", \"";
    text += type_word(type.text);
    text += '"';
  }
  return "[" + text + "]";
}

int64_t matrix_operations(std::string_view name, const std::vector<TraceValue>& shapes) {
  const auto found = std::ranges::find(kProducts, name, &Product::name);
  if (found == kProducts.end() || shapes.size() < found->first + 2) return -1;
  const std::vector<TraceValue>& a = shapes[found->first].list;
  const std::vector<TraceValue>& b = shapes[found->first + 1].list;
  constexpr size_t kMatrix = 2, kBatched = 3;
  if (a.size() != b.size() || (a.size() != kMatrix && a.size() != kBatched)) return -1;
  const auto dimension = [](const std::vector<TraceValue>& shape, size_t from_end) {
    return shape[shape.size() - from_end].number;
  };
  if (dimension(a, 1) != dimension(b, 2)) return -1;
  const int64_t batch = a.size() == kBatched ? a[0].number : 1;
  return product({2, batch, dimension(a, 2), dimension(a, 1), dimension(b, 1)}).value_or(-1);
}

}  // namespace ergometer::importer
