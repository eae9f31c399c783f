#include <simdjson.h>

#include "import/chakra/chakra.h"
#include "import/chakra/node_builder.h"
#include "import/text/walk_json.h"

// Keys are written in several ways: "Id" and "id", "data_deps" and "dataDeps". They are compared in
// lower case and without underscores.

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;

std::string plain_key(std::string_view key) {
  std::string out;
  for (const char c : key)
    if (c != '_') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

class ChakraJsonReader {
 public:
  void read(ondemand::document& document) {
    for (auto member : document.get_object()) {
      const std::string_view key = member.unescaped_key();
      if (key != "workload_graph") continue;
      for (auto node : member.value().get_array()) read_node(node.value());
    }
  }
  Result<run::WorkGraph> finish(const std::string& file);

 private:
  void read_node(ondemand::value value);
  void read_member(const std::string& key, ondemand::value value, ChakraNode& to);
  static std::vector<uint64_t> ids(ondemand::value value);
  void read_attribute(std::string_view name, ondemand::value value, run::WorkNode& node);

  GraphBuilder graph_;
  std::string scratch_;
  bool has_id_ = false;
  int64_t without_id_ = 0;
};

std::vector<uint64_t> ChakraJsonReader::ids(ondemand::value value) {
  std::vector<uint64_t> found;
  for_each_element(value, [&](ondemand::value entry) {
    if (const auto id = whole_number(entry); id && *id >= 0)
      found.push_back(static_cast<uint64_t>(*id));
  });
  return found;
}

void ChakraJsonReader::read_attribute(std::string_view name, ondemand::value value,
                                      run::WorkNode& node) {
  ChakraAttribute attribute{.name = name, .text = {}, .number = {}, .list = {}};
  if (ondemand::array list; value.get_array().get(list) == simdjson::SUCCESS) {
    for (auto entry : list) {
      const std::string_view token = trimmed(entry.raw_json_token());
      attribute.list.push_back(token == "true" || (whole_number(token).value_or(0) != 0) ? 1 : 0);
    }
  } else {
    const std::string_view token = trimmed(value.raw_json_token());
    const std::string_view content = unquoted(token);
    attribute.number = whole_number(content);
    if (token == "true") attribute.number = 1;
    if (token == "false") attribute.number = 0;
    const bool is_text = token.size() != content.size();
    if (is_text && (name == "pg_name" || !attribute.number))
      attribute.text = unescaped(content, scratch_);
  }
  graph_.take(attribute, node);
}

void ChakraJsonReader::read_member(const std::string& key, ondemand::value value, ChakraNode& to) {
  if (key == "id") {
    const auto id = whole_number(value);
    has_id_ = id && *id >= 0;
    if (has_id_) to.node.id = static_cast<uint64_t>(*id);
  } else if (key == "name") {
    to.name = unescaped(unquoted(value.raw_json_token()), scratch_);
  } else if (key == "nodetype" || key == "type") {
    const std::string_view kind = unquoted(value.raw_json_token());
    const auto number = whole_number(kind);
    to.node.kind = number ? chakra_kind(*number) : chakra_kind(kind);
  } else if (key == "ctrldeps") {
    to.control = ids(value);
  } else if (key == "datadeps") {
    to.data = ids(value);
  } else if (key == "starttimemicros" || key == "durationmicros") {
    const auto time = whole_number(value);
    if (time && *time >= 0)
      graph_.take_time(static_cast<uint64_t>(*time),
                       key[0] == 's' ? to.node.start_ns : to.node.duration_ns);
  } else {
    static constexpr std::string_view kNames[] = {
        "is_cpu_op", "comm_type",   "comm_size", "pg_name", "involved_dim",
        "num_ops",   "tensor_size", "tid",       "stream",  "runtime"};
    for (const std::string_view name : kNames)
      if (key == plain_key(name)) read_attribute(name, value, to.node);
  }
}

void ChakraJsonReader::read_node(ondemand::value value) {
  ChakraNode node;
  has_id_ = false;
  for_each_member(value, [&](std::string_view key, ondemand::value member) {
    read_member(plain_key(key), member, node);
  });
  if (has_id_)
    graph_.add(node);
  else
    ++without_id_;
}

Result<run::WorkGraph> ChakraJsonReader::finish(const std::string& file) {
  if (graph_.graph().nodes.empty())
    return input_error("{}: \"workload_graph\" holds no node with an \"Id\"", file);
  graph_.graph().format = "Chakra JSON";
  if (without_id_ > 0)
    graph_.graph().dropped.push_back({file, "a node without a whole Id", without_id_});
  return graph_.finish(file);
}

}  // namespace

Result<run::WorkGraph> read_chakra_json(ByteSource& source, const std::string& file) {
  return read_json<ondemand::parser, simdjson::simdjson_error>(source, file, ChakraJsonReader(),
                                                               file);
}

}  // namespace ergometer::importer
