#include "import/pytorch_et/execution_trace.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "import/pytorch_et/tensors.h"
#include "import/text/name_index.h"
#include "import/text/rank_name.h"
#include "import/text/walk_json.h"

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;
using NodeKind = run::WorkNode::Kind;

/// Values, shapes and types of an operator's inputs or outputs.
struct Arguments {
  std::vector<TraceValue> values, shapes, types;
};

/// One node as it stands in the file.
struct TraceNode {
  int64_t id = -1, parent = -1, record_function = -1, sequence = -1, forward_thread = -1,
          thread = -1;
  std::string name, collective, group;
  Arguments inputs, outputs;
};

class ExecutionTraceReader {
 public:
  explicit ExecutionTraceReader(const std::string& file) : names_(graph_.names) {
    graph_.file = file;
    graph_.calls = true;
    graph_.rank = rank_in_name(file).value_or(number_at_end(file));
  }
  void read(ondemand::document& document);
  Result<run::WorkGraph> finish();

 private:
  static int64_t number_at_end(std::string_view file);
  TraceValue value_of(ondemand::value value, int depth);
  std::vector<TraceValue> list_of(ondemand::value value, int depth = 0);
  int64_t number_of(ondemand::value value);
  std::string text_of(ondemand::value value);
  void read_arguments(ondemand::value value, Arguments& to);
  void read_attributes(ondemand::value value, TraceNode& to);
  void read_attribute(std::string_view name, ondemand::value value, TraceNode& to);
  void read_member(std::string_view key, ondemand::value value, TraceNode& to);
  void read_node(ondemand::value value);
  void add(const TraceNode& from);
  void add_collective(const TraceNode& from, run::WorkNode& node);

  run::WorkGraph graph_;
  NameIndex names_;
  StorageSizes storages_;
  std::string schema_, scratch_;
  int64_t without_id_ = 0;
};

/// "dlrm_eg_3.json": without a rank in its name, a file's last number is the rank.
int64_t ExecutionTraceReader::number_at_end(std::string_view file) {
  std::string_view name = base::last_part(file, '/');
  name = name.substr(0, name.find('.'));
  const size_t last = name.find_last_not_of("0123456789");
  const std::string_view digits = name.substr(last + 1);
  const bool behind_mark =
      last != std::string_view::npos && (name[last] == '_' || name[last] == '-');
  if (!behind_mark || digits.size() > kMostRankDigits) return -1;
  return whole_number(digits).value_or(-1);
}

int64_t ExecutionTraceReader::number_of(ondemand::value value) {
  return whole_number(value).value_or(-1);
}

std::string ExecutionTraceReader::text_of(ondemand::value value) {
  return std::string(unescaped(unquoted(value.raw_json_token()), scratch_));
}

std::vector<TraceValue> ExecutionTraceReader::list_of(ondemand::value value, int depth) {
  constexpr int kMostDepth = 64;
  if (depth > kMostDepth) throw simdjson::simdjson_error(simdjson::DEPTH_ERROR);
  std::vector<TraceValue> values;
  for_each_element(value,
                   [&](ondemand::value entry) { values.push_back(value_of(entry, depth + 1)); });
  return values;
}

TraceValue ExecutionTraceReader::value_of(ondemand::value value, int depth) {
  if (value.type() == ondemand::json_type::array)
    return {.kind = TraceValue::Kind::kList, .text = {}, .list = list_of(value, depth)};
  const std::string_view token = trimmed(value.raw_json_token());
  if (const auto number = whole_number(token))
    return {.kind = TraceValue::Kind::kNumber, .number = *number, .text = {}, .list = {}};
  return {.kind = TraceValue::Kind::kText,
          .text = std::string(unescaped(unquoted(token), scratch_)),
          .list = {}};
}

void ExecutionTraceReader::read_arguments(ondemand::value value, Arguments& to) {
  const bool by_name = for_each_member(value, [&](std::string_view key, ondemand::value member) {
    if (key == "values") to.values = list_of(member);
    if (key == "shapes") to.shapes = list_of(member);
    if (key == "types") to.types = list_of(member);
  });
  if (!by_name) to.values = list_of(value);
}

void ExecutionTraceReader::read_attribute(std::string_view name, ondemand::value value,
                                          TraceNode& to) {
  if (name == "rf_id") to.record_function = number_of(value);
  if (name == "seq_id") to.sequence = number_of(value);
  if (name == "tid") to.thread = number_of(value);
  if (name == "fw_tid") to.forward_thread = number_of(value);
  if (name == "collective_name") to.collective = text_of(value);
  if (name == "pg_name") to.group = text_of(value);
}

/// [{"name": "rf_id", "type": "uint64", "value": 0}, ...]
void ExecutionTraceReader::read_attributes(ondemand::value value, TraceNode& to) {
  for_each_element(value, [&](ondemand::value entry) {
    std::string name;
    for_each_member(entry, [&](std::string_view key, ondemand::value member) {
      if (key == "name") name = text_of(member);
      if (key == "value") read_attribute(name, member, to);
    });
  });
}

void ExecutionTraceReader::read_member(std::string_view key, ondemand::value value, TraceNode& to) {
  if (key == "id")
    to.id = number_of(value);
  else if (key == "name")
    to.name = text_of(value);
  else if (key == "parent" || key == "ctrl_deps")
    to.parent = number_of(value);
  else if (key == "inputs")
    read_arguments(value, to.inputs);
  else if (key == "outputs")
    read_arguments(value, to.outputs);
  else if (key == "input_shapes")
    to.inputs.shapes = list_of(value);
  else if (key == "input_types")
    to.inputs.types = list_of(value);
  else if (key == "attrs")
    read_attributes(value, to);
  else
    read_attribute(key, value, to);
}

void ExecutionTraceReader::read_node(ondemand::value value) {
  TraceNode node;
  for_each_member(
      value, [&](std::string_view key, ondemand::value member) { read_member(key, member, node); });
  if (node.id >= 0)
    add(node);
  else
    ++without_id_;
}

/// The collective that `record_param_comms` was called for: a text among its inputs. It is called
/// for waiting and grouping as well.
void ExecutionTraceReader::add_collective(const TraceNode& from, run::WorkNode& node) {
  constexpr std::array<std::string_view, 5> kNotCalls = {"", "wait", "init", "startCoalescing",
                                                         "endCoalescing"};
  std::string name = from.collective;
  if (name.empty()) {
    const auto text =
        std::ranges::find(from.inputs.values, TraceValue::Kind::kText, &TraceValue::kind);
    if (text != from.inputs.values.end()) name = text->text;
  }
  if (base::contains(kNotCalls, name)) return;
  node.kind = name == "send"                        ? NodeKind::kSend
              : name == "recv" || name == "receive" ? NodeKind::kReceive
                                                    : NodeKind::kCollective;
  node.collective = names_.add(name);
  node.communication_bytes = StorageSizes().add(from.inputs.values);
  if (!from.group.empty()) node.group = names_.add(from.group);
}

void ExecutionTraceReader::add(const TraceNode& from) {
  run::WorkNode node;
  node.id = static_cast<uint64_t>(from.id);
  node.name = names_.add(from.name);
  node.thread = from.thread;
  node.cpu = true;
  node.kind = from.name.starts_with("[pytorch|") ? NodeKind::kMetadata : NodeKind::kCompute;
  node.operations = matrix_operations(from.name, from.inputs.shapes);
  node.tensor_bytes = storages_.add(from.inputs.values);
  node.tensor_bytes += std::min(storages_.add(from.outputs.values), INT64_MAX - node.tensor_bytes);
  if (from.name == "record_param_comms") add_collective(from, node);
  node.first_dependency = static_cast<uint32_t>(graph_.dependencies.size());
  // The process, at the root, calls itself.
  if (from.parent >= 0 && from.parent != from.id) {
    graph_.dependencies.push_back(static_cast<uint64_t>(from.parent));
    node.control_dependencies = 1;
  }
  graph_.nodes.push_back(node);
  run::Operator op{.name = node.name, .record_function_id = from.record_function};
  if (!from.inputs.shapes.empty()) {
    op.shapes = names_.add(shapes_text(from.inputs.shapes));
    op.dtypes = names_.add(types_text(from.inputs.types));
  }
  op.sequence = from.sequence;
  op.forward_thread = from.forward_thread > 0 ? from.forward_thread : -1;
  op.thread = from.thread;
  graph_.operators.push_back(op);
}

void ExecutionTraceReader::read(ondemand::document& document) {
  for (auto member : document.get_object()) {
    const std::string_view key = member.unescaped_key();
    if (key == "schema") schema_ = text_of(member.value());
    if (key == "nodes")
      for_each_element(member.value(), [&](ondemand::value node) { read_node(node); });
  }
}

Result<run::WorkGraph> ExecutionTraceReader::finish() {
  if (graph_.nodes.empty())
    return input_error(
        "{}: \"nodes\" of the execution trace (schema {}) holds no node with a whole \"id\"",
        graph_.file, schema_);
  graph_.format = fmt::format("PyTorch execution trace {}", schema_);
  graph_.storages = storages_.count();
  graph_.storage_bytes = storages_.bytes();
  if (without_id_ > 0)
    graph_.dropped.push_back({graph_.file, "a node without a whole id", without_id_});
  return std::move(graph_);
}

}  // namespace

Result<run::WorkGraph> read_execution_trace(ByteSource& source, const std::string& file) {
  return read_json<ondemand::parser, simdjson::simdjson_error>(source, file,
                                                               ExecutionTraceReader(file));
}

}  // namespace ergometer::importer
