#include "import/flight/json_tree.h"

#include <simdjson.h>

#include "import/text/walk_json.h"

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;
using Kind = TreeValue::Kind;

TreeValue number_of(ondemand::number number) {
  if (number.is_int64()) return {.kind = Kind::kWhole, .whole = number.get_int64()};
  return {.kind = Kind::kReal, .real = number.as_double()};
}

template <class Value>
TreeValue value_of(Value value, ValueTree& tree) {
  switch (value.type().value()) {
    case ondemand::json_type::object: {
      const TreeValue dict = tree.container(Kind::kDict);
      for (auto field : value.get_object()) {
        const TreeValue key = tree.text(field.unescaped_key().value());
        const TreeValue content = value_of(field.value().value(), tree);
        tree.lists[dict.at].insert(tree.lists[dict.at].end(), {key, content});
      }
      return dict;
    }
    case ondemand::json_type::array: {
      const TreeValue list = tree.container(Kind::kList);
      for (auto element : value.get_array()) {
        const TreeValue content = value_of(element.value(), tree);
        tree.lists[list.at].push_back(content);
      }
      return list;
    }
    case ondemand::json_type::string: return tree.text(std::string_view(value.get_string()));
    case ondemand::json_type::number: return number_of(value.get_number());
    case ondemand::json_type::boolean:
      return {.kind = Kind::kTruth, .whole = static_cast<int64_t>(bool(value.get_bool()))};
    case ondemand::json_type::null:
      if (!bool(value.is_null())) throw simdjson::simdjson_error(simdjson::INCORRECT_TYPE);
      return {};
    default: throw simdjson::simdjson_error(simdjson::INCORRECT_TYPE);
  }
}

}  // namespace

Result<TreeValue> read_json_tree(ByteSource& source, const std::string& file, ValueTree& tree) {
  TreeValue root;
  const auto walked = walk_json<ondemand::parser, simdjson::simdjson_error>(
      source, file,
      [&](auto& document) { root = value_of(ondemand::value(document.get_value()), tree); });
  ERGOMETER_TRY(walked);
  return root;
}

}  // namespace ergometer::importer
