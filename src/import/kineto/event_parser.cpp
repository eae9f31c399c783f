#include "import/kineto/event_parser.h"

#include <simdjson.h>

#include "import/text/json_scan.h"
#include "import/text/json_text.h"

// The stretch is made a list of its own by a bracket on either side, and simdjson's On-Demand
// reader walks over it: it looks for structure in the whole stretch at once with vector
// instructions and then reads only the values that are asked for. A stretch may be cut within a
// nested list; then its last element does not close, simdjson says so, and the caller goes on from
// there with more text.

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;

/// A view that is known to be a literal's length long is compared in one go.
bool is_key(std::string_view key, std::string_view literal) { return key == literal; }

std::string_view text_of(ondemand::field& field) {
  return unquoted(field.value().raw_json_token());
}

std::string_view* argument(EventText& event, std::string_view key) {
  if (key.empty()) return nullptr;
  switch (key[0]) {
    case 'c': return is_key(key, "correlation") ? &event.correlation : nullptr;
    case 'd':
      if (is_key(key, "device")) return &event.device;
      return is_key(key, "dtype") ? &event.dtype : nullptr;
    case 's': return is_key(key, "stream") ? &event.stream : nullptr;
    case 'E': return is_key(key, "External id") ? &event.external_id : nullptr;
    case 'e': return is_key(key, "external id") ? &event.external_id : nullptr;
    case 'C':
      if (is_key(key, "Concrete Inputs")) return needs_values(event.name) ? &event.values : nullptr;
      return is_key(key, "Collective name") ? &event.collective : nullptr;
    case 'F': return is_key(key, "Fwd thread id") ? &event.forward_thread : nullptr;
    case 'I':
      if (is_key(key, "Input Dims") || is_key(key, "Input dims")) return &event.shapes;
      if (is_key(key, "Input type")) return &event.dtypes;
      return is_key(key, "In msg nelems") ? &event.in_elements : nullptr;
    case 'O': return is_key(key, "Out msg nelems") ? &event.out_elements : nullptr;
    case 'G': return is_key(key, "Group size") ? &event.group_size : nullptr;
    case 'R': return is_key(key, "Record function id") ? &event.record_function_id : nullptr;
    case 'S':
      if (is_key(key, "Sequence number")) return &event.sequence_number;
      return is_key(key, "Seq") ? &event.sequence : nullptr;
    case 'P':
      if (is_key(key, "Process Group Name")) return &event.group;
      return is_key(key, "Process Group Description") ? &event.description : nullptr;
    default: return nullptr;
  }
}

/// The value's text; of a list all of it.
simdjson::error_code read_text(ondemand::value value, std::string_view& text) {
  text = value.raw_json_token();
  if (!text.starts_with('[')) {
    text = unquoted(text);
    return simdjson::SUCCESS;
  }
  ondemand::array list;
  if (const auto error = value.get_array().get(list)) return error;
  if (const auto error = list.raw_json().get(text)) return error;
  text = trimmed(text);
  return simdjson::SUCCESS;
}

simdjson::error_code read_arguments(ondemand::value value, EventText& event) {
  ondemand::object arguments;
  if (value.get_object().get(arguments) != simdjson::SUCCESS) {
    // Not an object: nothing to read, and what it is does not matter.
    return simdjson::SUCCESS;
  }
  for (auto result : arguments) {
    ondemand::field field;
    if (const auto error = std::move(result).get(field)) return error;
    std::string_view* text = argument(event, key_of(field));
    if (text == nullptr) continue;
    if (const auto error = read_text(field.value(), *text)) return error;
  }
  return simdjson::SUCCESS;
}

/// One event on its way from the file to the collector.
struct Reading {
  EventText text;
  EventUse use = EventUse::kUnknown;
  bool has_phase = false, arguments_wait = false;

  /// Whether the event is of no use, whatever else it holds.
  bool is_settled() const { return has_phase && use == EventUse::kNone; }
  bool uses_arguments() const {
    return use == EventUse::kGpu || use == EventUse::kLaunch || use == EventUse::kOperator;
  }
  /// Whether "args" can be read now: what of them is needed depends on category and name.
  bool is_ready() const { return use != EventUse::kUnknown && !text.name.empty(); }
};

simdjson::error_code read_field(ondemand::field& field, Reading& event) {
  const std::string_view key = key_of(field);
  EventText& text = event.text;
  if (is_key(key, "ph")) {
    text.phase = text_of(field);
    event.has_phase = true;
  } else if (is_key(key, "cat")) {
    text.category = text_of(field);
    event.use = use_of_category(text.category);
  } else if (is_key(key, "name")) {
    text.name = text_of(field);
  } else if (is_key(key, "ts")) {
    text.start = text_of(field);
  } else if (is_key(key, "dur")) {
    text.duration = text_of(field);
  } else if (is_key(key, "pid")) {
    text.process = text_of(field);
  } else if (is_key(key, "tid")) {
    text.thread = text_of(field);
  } else if (is_key(key, "args")) {
    if (event.is_ready() && event.uses_arguments()) return read_arguments(field.value(), text);
    event.arguments_wait = !event.is_ready();
  }
  return simdjson::SUCCESS;
}

simdjson::error_code read_waiting_arguments(ondemand::object& object, EventText& text) {
  if (const auto error = object.reset().error()) return error;
  for (auto result : object) {
    ondemand::field field;
    if (const auto error = std::move(result).get(field)) return error;
    if (!is_key(key_of(field), "args")) continue;
    if (const auto error = read_arguments(field.value(), text)) return error;
  }
  return simdjson::SUCCESS;
}

/// What became of an element. One that was passed over has not been read to its end: it counts only
/// when the list is found to go on behind it, so that no element counts twice.
enum class Taken : uint8_t { kNothing, kWhole, kNotGpu, kNotAnObject };

simdjson::error_code read_event(ondemand::object object, Collector& collector, Taken& taken) {
  Reading event;
  for (auto result : object) {
    ondemand::field field;
    if (const auto error = std::move(result).get(field)) return error;
    if (const auto error = read_field(field, event)) return error;
    if (event.is_settled()) break;
  }
  if (event.has_phase) collector.note_phase();
  if (event.use == EventUse::kNone || event.use == EventUse::kUnknown) {
    taken = Taken::kNotGpu;
    return simdjson::SUCCESS;
  }
  if (event.arguments_wait && event.uses_arguments()) {
    if (const auto error = read_waiting_arguments(object, event.text)) return error;
  }
  collector.add(event.text, event.use);
  taken = Taken::kWhole;
  return simdjson::SUCCESS;
}

/// Makes a stretch of text a list of its own, for as long as this lives.
class Bracketed {
 public:
  Bracketed(char* text, size_t bytes)
      : text_(text),
        bytes_(bytes),
        before_(text[-1]),
        behind_(text[bytes]),
        second_(text[bytes + 1]) {
    text_[-1] = '[';
    text_[bytes_] = ']';
    text_[bytes_ + 1] = ' ';
  }
  ~Bracketed() {
    text_[-1] = before_;
    text_[bytes_] = behind_;
    text_[bytes_ + 1] = second_;
  }
  Bracketed(const Bracketed&) = delete;
  Bracketed& operator=(const Bracketed&) = delete;

 private:
  char* text_;
  size_t bytes_;
  char before_, behind_, second_;
};

void count(Taken taken, Collector& collector) {
  if (taken == Taken::kNotGpu) collector.drop(DropReason::kNotGpu);
  if (taken == Taken::kNotAnObject) collector.drop(DropReason::kNotAnObject);
}

}  // namespace

struct EventParser::Parser {
  ondemand::parser reader;
};

EventParser::EventParser() : parser_(std::make_unique<Parser>()) {}
EventParser::~EventParser() = default;

EventParser::Outcome EventParser::parse(char* text, size_t bytes, size_t readable,
                                        Collector& collector) {
  using End = Outcome::End;
  const Bracketed list_of_its_own(text, bytes);
  ondemand::document document;
  ondemand::array list;
  if (parser_->reader.iterate(text - 1, bytes + 2, readable + 1).get(document) ||
      document.get_array().get(list))
    return {End::kStuck, 0};
  size_t at = 0;
  Taken taken = Taken::kNothing;
  for (auto element : list) {
    ondemand::value value;
    if (std::move(element).get(value)) {
      if (taken == Taken::kWhole) at += ValueScan().scan({text + at, bytes - at});
      return {End::kStuck, at};
    }
    count(taken, collector);
    taken = Taken::kNothing;
    const std::string_view token = value.raw_json_token();
    at = static_cast<size_t>(token.data() - text);
    if (token.empty() || token[0] != '{') {
      taken = Taken::kNotAnObject;
      continue;
    }
    ondemand::object object;
    if (value.get_object().get(object) || read_event(object, collector, taken))
      return {End::kStuck, at};
  }
  count(taken, collector);
  const char* behind_list = nullptr;
  if (document.current_location().get(behind_list)) return {End::kText, bytes};
  // The list's own bracket is the last thing before what follows it.
  size_t end = static_cast<size_t>(behind_list - text);
  while (end > 0 && text[end - 1] != ']') --end;
  return {End::kList, end};
}

}  // namespace ergometer::importer
