#include "import/rocprof/record.h"

#include <simdjson.h>

#include <array>

#include "import/text/decimal.h"
#include "import/text/json_text.h"

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;

struct KnownValue {
  std::string_view parent, key;
  RocprofRecord::Number RocprofRecord::* value;
};
constexpr std::array kValues = std::to_array<KnownValue>({
    {"", "kind", &RocprofRecord::kind},
    {"", "operation", &RocprofRecord::operation},
    {"", "thread_id", &RocprofRecord::thread},
    {"correlation_id", "internal", &RocprofRecord::correlation},
    {"", "start_timestamp", &RocprofRecord::start_ns},
    {"", "end_timestamp", &RocprofRecord::end_ns},
    {"agent_id", "handle", &RocprofRecord::agent},
    {"queue_id", "handle", &RocprofRecord::queue},
    {"stream_id", "handle", &RocprofRecord::stream},
    {"dispatch_info", "kernel_id", &RocprofRecord::kernel},
    {"src_agent_id", "handle", &RocprofRecord::source_agent},
    {"dst_agent_id", "handle", &RocprofRecord::target_agent},
});

/// A whole number, from its digits: doubles end at 2^53.
RocprofRecord::Number number_of(std::string_view token) { return whole_number(unquoted(token)); }

simdjson::error_code read_object(ondemand::object object, std::string_view parent, int depth,
                                 RocprofRecord& record) {
  constexpr int kDeepest = 4;
  for (auto result : object) {
    ondemand::field field;
    if (const auto error = std::move(result).get(field)) return error;
    const std::string_view key = key_of(field);
    const std::string_view token = field.value().raw_json_token();
    if (token.starts_with('{') && depth < kDeepest) {
      ondemand::object inner;
      if (const auto error = field.value().get_object().get(inner)) return error;
      if (const auto error = read_object(inner, key, depth + 1, record)) return error;
      continue;
    }
    for (const KnownValue& known : kValues)
      if (known.key == key && known.parent == parent)
        record.*known.value = number_of(trimmed(token));
  }
  return simdjson::SUCCESS;
}

}  // namespace

struct RocprofRecords::Parser {
  ondemand::parser reader;
};

RocprofRecords::RocprofRecords() : parser_(std::make_unique<Parser>()) {}
RocprofRecords::~RocprofRecords() = default;

std::optional<RocprofRecord> RocprofRecords::read(std::string_view text, size_t readable) {
  ondemand::document document;
  ondemand::object object;
  RocprofRecord record;
  if (parser_->reader.iterate(text.data(), text.size(), readable).get(document) ||
      document.get_object().get(object) || read_object(object, "", 0, record))
    return std::nullopt;
  return record;
}

}  // namespace ergometer::importer
