#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ergometer::launch {

/// One argument of a training program: a name as the framework spells it and its values, unquoted;
/// a switch has none.
struct Argument {
  std::string name;  ///< "tensor-model-parallel-size", "model.tensor_model_parallel_size"
  std::vector<std::string> values;
};

/// What a framework is told, and what it cannot be told.
struct Arguments {
  std::vector<Argument> all;
  std::vector<std::string> notes;  ///< what the framework decides otherwise than the prediction

  void add(std::string_view name, std::string value) {
    all.push_back({std::string(name), {std::move(value)}});
  }
  void add(std::string_view name, long value) { add(name, std::to_string(value)); }
  void add_if(bool on, std::string_view name) {
    if (on) all.push_back({std::string(name), {}});
  }
};

}  // namespace ergometer::launch
