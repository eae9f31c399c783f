#include "import/rocprof/rocprof.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <functional>

#include "import/rocprof/process.h"
#include "import/text/json_cursor.h"
#include "import/text/json_scan.h"
#include "import/text/rank_name.h"

namespace ergometer::importer {
namespace {

constexpr std::string_view kTopKey = "rocprofiler-sdk-tool";

class RocprofReader {
 public:
  RocprofReader(ByteSource& source, const std::string& file) : cursor_(source, file), file_(file) {}
  Result<std::vector<run::RankTrace>> read();

 private:
  using Element = simdjson::dom::element;
  Result<void> read_process();
  Result<void> read_member(const std::string& key, RocprofProcess& process);
  Result<void> read_sections(RocprofProcess& process);
  Result<void> read_section(const std::string& name, RocprofProcess& process);
  Result<void> read_strings(RocprofProcess& process);
  /// Calls `take` with each element of the list at hand that JSON allows.
  Result<void> each(const std::function<void(Element)>& take);
  /// Calls `take` with the key of each member of the object at hand; it reads the value.
  Result<void> each_member(const std::function<Result<void>(const std::string&)>& take);
  Result<void> read_whole(const std::function<void(Element)>& take);
  void keep(RocprofProcess& process);

  JsonCursor cursor_;
  const std::string& file_;
  RocprofRecords records_;
  simdjson::dom::parser parser_;
  DropCounts dropped_;
  std::vector<run::RankTrace> traces_;
  bool any_process_ = false;
};

int64_t number_at(simdjson::dom::element object, const char* pointer) {
  int64_t number = 0;
  return object.at_pointer(pointer).get(number) == simdjson::SUCCESS ? number : -1;
}

std::string text_at(simdjson::dom::element object, const char* key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

Result<void> RocprofReader::read_whole(const std::function<void(Element)>& take) {
  ERGOMETER_ASSIGN(const auto text, cursor_.value());
  Element element;
  if (text && parser_.parse(text->data(), text->size()).get(element) == simdjson::SUCCESS) {
    take(element);
  } else if (!cursor_.truncated()) {
    dropped_.add("malformed JSON");
  }
  return {};
}

Result<void> RocprofReader::each(const std::function<void(Element)>& take) {
  ERGOMETER_ASSIGN(const bool list, cursor_.enter('['));
  if (!list) return cursor_.skip();
  for (;;) {
    ERGOMETER_ASSIGN(const bool more, cursor_.next_element());
    if (!more) return {};
    ERGOMETER_TRY(read_whole(take));
  }
}

void read_agent(simdjson::dom::element element, RocprofProcess& process) {
  constexpr int64_t kGpu = 2;
  RocprofProcess::Agent agent;
  agent.gpu = number_at(element, "/type") == kGpu;
  const int64_t index = number_at(element, "/logical_node_type_id");
  agent.index = index <= INT32_MAX ? static_cast<int32_t>(std::max<int64_t>(index, -1)) : -1;
  agent.name = text_at(element, "product_name");
  if (agent.name.empty()) agent.name = text_at(element, "name");
  process.agents[number_at(element, "/id/handle")] = std::move(agent);
}

void read_symbol(simdjson::dom::element element, RocprofProcess& process) {
  for (const char* key : {"formatted_kernel_name", "demangled_kernel_name", "kernel_name"}) {
    const std::string name = text_at(element, key);
    if (name.empty()) continue;
    process.kernels[number_at(element, "/kernel_id")] = name;
    return;
  }
}

void read_operations(simdjson::dom::element element, RocprofProcess& process) {
  std::vector<std::string>& names = process.operations.emplace_back();
  simdjson::dom::array list;
  if (element["operations"].get(list) != simdjson::SUCCESS) return;
  for (const auto name : list) {
    std::string_view text;
    names.emplace_back(name.get(text) == simdjson::SUCCESS ? text : "");
  }
}

Result<void> RocprofReader::each_member(
    const std::function<Result<void>(const std::string&)>& take) {
  ERGOMETER_ASSIGN(const bool object, cursor_.enter('{'));
  if (!object) return cursor_.skip();
  std::string key;
  for (;;) {
    ERGOMETER_ASSIGN(const bool more, cursor_.next_key(key));
    if (!more) return {};
    ERGOMETER_TRY(take(key));
  }
}

Result<void> RocprofReader::read_strings(RocprofProcess& process) {
  return each_member([&](const std::string& key) {
    if (key == "marker_api")
      return each([&](Element element) {
        process.messages[number_at(element, "/key")] = text_at(element, "value");
      });
    if (key != "buffer_records") return cursor_.skip();
    process.operations.clear();
    return each([&](Element element) { read_operations(element, process); });
  });
}

Result<void> RocprofReader::read_section(const std::string& name, RocprofProcess& process) {
  ERGOMETER_ASSIGN(const bool list, cursor_.enter('['));
  if (!list) return cursor_.skip();
  for (;;) {
    ERGOMETER_ASSIGN(const bool more, cursor_.next_element());
    if (!more) return {};
    ERGOMETER_ASSIGN(const auto text, cursor_.value());
    const auto record = text ? records_.read(*text, cursor_.readable(*text)) : std::nullopt;
    if (record) {
      process.add(name, *record, dropped_);
    } else {
      dropped_.add(cursor_.truncated() ? "cut off where the file ends" : "malformed JSON");
    }
  }
}

Result<void> RocprofReader::read_sections(RocprofProcess& process) {
  return each_member([&](const std::string& name) { return read_section(name, process); });
}

Result<void> RocprofReader::read_member(const std::string& key, RocprofProcess& process) {
  if (key == "metadata")
    return read_whole([&](Element element) { process.pid = number_at(element, "/pid"); });
  if (key == "agents") return each([&](Element element) { read_agent(element, process); });
  if (key == "kernel_symbols") return each([&](Element element) { read_symbol(element, process); });
  if (key == "strings") return read_strings(process);
  if (key == "buffer_records") return read_sections(process);
  return cursor_.skip();
}

Result<void> RocprofReader::read_process() {
  ERGOMETER_ASSIGN(const bool object, cursor_.enter('{'));
  if (!object) return cursor_.skip();
  RocprofProcess process;
  std::string key;
  for (;;) {
    ERGOMETER_ASSIGN(const bool more, cursor_.next_key(key));
    if (!more) break;
    ERGOMETER_TRY(read_member(key, process));
  }
  keep(process);
  return {};
}

void RocprofReader::keep(RocprofProcess& process) {
  for (run::RankTrace& trace : process.finish(dropped_)) {
    const int32_t device = trace.events.front().device;
    trace.file = fmt::format("{} (process {}, GPU {})", file_, process.pid, device);
    traces_.push_back(std::move(trace));
  }
}

Result<std::vector<run::RankTrace>> RocprofReader::read() {
  ERGOMETER_TRY(cursor_.enter('{'));
  std::string key;
  for (;;) {
    ERGOMETER_ASSIGN(const bool more, cursor_.next_key(key));
    if (!more) break;
    ERGOMETER_ASSIGN(const bool list, key == kTopKey ? cursor_.enter('[') : false);
    if (!list) {
      ERGOMETER_TRY(cursor_.skip());
      continue;
    }
    for (;;) {
      ERGOMETER_ASSIGN(const bool another, cursor_.next_element());
      if (!another) break;
      any_process_ = true;
      ERGOMETER_TRY(read_process());
    }
  }
  if (!any_process_)
    return input_error("{}: \"{}\": found no process, allowed: a list of them", file_, kTopKey);
  // A result without GPU events is a trace without events, as it is in other formats.
  if (traces_.empty()) traces_.emplace_back();
  if (traces_.size() == 1) {
    traces_.front().file = file_;
    traces_.front().rank = rank_in_name(file_).value_or(-1);
  }
  traces_.front().dropped = dropped_.take(file_);
  for (run::RankTrace& trace : traces_) trace.truncated = cursor_.truncated();
  return std::move(traces_);
}

}  // namespace

bool is_rocprof(std::string_view head) {
  const size_t brace = skip_space(head);
  if (brace >= head.size() || head[brace] != '{') return false;
  const size_t quote = skip_space(head, brace + 1);
  return quote < head.size() && head.substr(quote).starts_with('"') &&
         head.substr(quote + 1).starts_with(kTopKey);
}

Result<std::vector<run::RankTrace>> read_rocprof(ByteSource& source, const std::string& file) {
  return RocprofReader(source, file).read();
}

}  // namespace ergometer::importer
