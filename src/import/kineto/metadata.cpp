#include "import/kineto/metadata.h"

#include <simdjson.h>

#include "import/text/decimal.h"
#include "import/text/json_text.h"
#include "import/text/rank_name.h"

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;

void read_distributed(ondemand::object object, Metadata& metadata) {
  for (auto result : object) {
    ondemand::field field;
    if (std::move(result).get(field)) return;
    const bool rank = field.key() == "rank", world = field.key() == "world_size";
    metadata.distributed = metadata.distributed || world || field.key() == "backend";
    if (!rank && !world) continue;
    const auto number = whole_number(unquoted(field.value().raw_json_token()));
    if (!number || *number < 0 || *number > kMostRanks) continue;
    (rank ? metadata.rank : metadata.world_size) = *number;
  }
}

void read_device(ondemand::array devices, Metadata& metadata) {
  for (auto device : devices) {
    std::string_view name;
    if (device["name"].get_string().get(name) == simdjson::SUCCESS) metadata.gpu = name;
    return;
  }
}

}  // namespace

bool is_metadata(std::string_view key) {
  return key == "distributedInfo" || key == "deviceProperties" || key == "baseTimeNanoseconds" ||
         key == "traceName";
}

void read_member(std::string_view key, std::string_view json, Metadata& metadata) {
  if (key == "baseTimeNanoseconds") {
    // Half of what a time may be: times on the common clock still fit.
    const int64_t base = whole_number(unquoted(json)).value_or(0);
    if (base >= 0 && base <= kLargestTime / 2) metadata.base_time_ns = base;
    return;
  }
  if (key == "traceName") {
    std::string scratch;
    metadata.trace_name = unescaped(unquoted(json), scratch);
    return;
  }
  const simdjson::padded_string text(json);
  ondemand::parser parser;
  ondemand::document document;
  if (parser.iterate(text).get(document)) return;
  ondemand::object object;
  ondemand::array list;
  if (key == "distributedInfo" && !document.get_object().get(object))
    read_distributed(object, metadata);
  if (key == "deviceProperties" && !document.get_array().get(list)) read_device(list, metadata);
}

}  // namespace ergometer::importer
