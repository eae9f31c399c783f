#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ergometer::importer {

/// A list of an execution trace as it is walked over: a number, a text, or a list again.
struct TraceValue {
  enum class Kind : uint8_t { kNumber, kText, kList };
  Kind kind = Kind::kList;
  int64_t number = 0;
  std::string text;
  std::vector<TraceValue> list;
};

/// The memory of tensors, each piece once: [tensor, storage, offset, elements, bytes of one,
/// device].
class StorageSizes {
 public:
  /// Bytes of all tensors in a list of values, lists of tensors among them.
  int64_t add(const std::vector<TraceValue>& values);
  int64_t count() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t bytes() const;

 private:
  std::unordered_map<int64_t, int64_t> sizes_;
};

/// Shapes as PyTorch's profiler writes them: "[[4096, 1024], [], [1024]]". What is no tensor has
/// none, a list of tensors has a list of shapes.
std::string shapes_text(const std::vector<TraceValue>& shapes);
/// Types as it writes them: "[\"float\", \"Scalar\"]" of "Tensor(float)" and "Int".
std::string types_text(const std::vector<TraceValue>& types);

/// Floating-point operations of a matrix product, two for every multiply and add: 2 M N K, times
/// the batch. -1 for another operator, and where the shapes do not fit.
int64_t matrix_operations(std::string_view name, const std::vector<TraceValue>& shapes);

}  // namespace ergometer::importer
