#include "intake/reader/flat_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/nearest.h"
#include "base/text.h"
#include "intake/reader/framework_options.h"
#include "intake/reader/placeholder.h"
#include "spec/recipe/recipe.h"

namespace ergometer::intake {
namespace {

/// Words that divide a job over GPUs. Whoever does not read one of them reads another job.
constexpr std::array<std::string_view, 24> kParallelismWords = {
    "tensor_model_parallel_size",
    "tensor_parallel_size",
    "tensor_parallel_degree",
    "tp_size",
    "autotp_size",
    "pipeline_model_parallel_size",
    "pipeline_parallel_size",
    "pipeline_parallel_degree",
    "pp_size",
    "virtual_pipeline_model_parallel_size",
    "context_parallel_size",
    "context_parallel_degree",
    "cp_size",
    "expert_model_parallel_size",
    "expert_parallel_size",
    "expert_parallel_degree",
    "expert_tensor_parallel_size",
    "expert_tensor_parallel_degree",
    "sequence_parallel_size",
    "sequence_parallel_degree",
    "data_parallel_shard_degree",
    "data_parallel_replicate_degree",
    "dp_shard_size",
    "dp_replicate_size",
};

/// Above every count that a configuration holds, so that products of two fit.
constexpr int64_t kLargestNumber = 1'000'000'000'000;

std::optional<bool> yes_or_no(std::string_view text) {
  const std::string word = base::lower(text);
  for (const char* yes : {"true", "yes", "on", "1"})
    if (word == yes) return true;
  for (const char* no : {"false", "no", "off", "0", "none", ""})
    if (word == no) return false;
  return std::nullopt;
}

}  // namespace

bool divides_job(std::string_view key) {
  const std::string_view last = base::last_part(key, '.');
  return base::contains(kParallelismWords, last);
}

bool is_off(std::string_view text) {
  const std::string word = base::lower(text);
  for (const char* off : {"", "false", "no", "off", "none", "null", "0", "0.0", "-1", "{}", "[]"})
    if (word == off) return true;
  return false;
}

const spec::FlatValue* FlatReader::find(std::string_view key) {
  if (asked_.find(key) == asked_.end()) asked_.insert(std::string(key));
  const auto it = values_.find(key);
  if (it == values_.end() || it->second.text == "auto" || it->second.text == "None") return nullptr;
  return &it->second;
}

bool FlatReader::says(std::string_view key, std::string_view word) {
  const auto it = values_.find(key);
  return it != values_.end() && base::lower(it->second.text) == word && has(key);
}

std::string_view FlatReader::present(std::initializer_list<std::string_view> keys) {
  std::string_view found;
  for (const std::string_view key : keys)
    if (has(key) && found.empty()) found = key;
  return found;
}

bool FlatReader::has_section(std::string_view section) const {
  const std::string prefix = std::string(section) + '.';
  const auto it = values_.lower_bound(prefix);
  return it != values_.end() && it->first.starts_with(prefix);
}

std::string FlatReader::text(std::string_view key, std::string_view fallback) {
  const spec::FlatValue* value = find(key);
  return value == nullptr ? std::string(fallback) : value->text;
}

std::optional<bool> FlatReader::said_flag(std::string_view key) {
  const spec::FlatValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<bool> said = yes_or_no(value->text);
  if (!said) refuse(key, "true or false");
  return said;
}

bool FlatReader::flag(std::string_view key, bool fallback) {
  return said_flag(key).value_or(fallback);
}

std::optional<int64_t> FlatReader::integer(std::string_view key, int64_t least) {
  const spec::FlatValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = base::parse_integer(value->text);
  if (number && *number >= least && *number <= kLargestNumber) return *number;
  // JSON and Python write large counts as 5e8.
  const auto real = base::parse_number(value->text);
  if (real && *real >= static_cast<double>(least) && *real <= static_cast<double>(kLargestNumber) &&
      static_cast<double>(static_cast<int64_t>(*real)) == *real)
    return static_cast<int64_t>(*real);
  const bool beyond = real && *real > static_cast<double>(kLargestNumber);
  refuse(key, beyond ? fmt::format("a whole number of at most {}", kLargestNumber)
                     : fmt::format("a whole number of at least {}", least));
  return std::nullopt;
}

std::optional<int64_t> FlatReader::count_for(std::string_view setting, std::string_view key,
                                             int64_t least) {
  const spec::FlatValue* value = find(key);
  if (value == nullptr || !is_placeholder(value->text)) return integer(key, least);
  leave_open(reading_, setting, origin(key), value->text, ByEnvironment::kNo);
  return std::nullopt;
}

int64_t FlatReader::size(std::string_view key) {
  constexpr int64_t kMost = 100'000'000;
  const auto number = integer(key, 1);
  if (!number || *number > kMost) refuse(key, "a whole number from 1 to 100000000");
  return number.value_or(1);
}

bool FlatReader::copy(std::string_view key, std::string_view setting) {
  const spec::FlatValue* value = find(key);
  if (value == nullptr || value->text.empty()) return false;
  set(setting, value->text, key);
  return true;
}

bool FlatReader::copy_count(std::string_view key, std::string_view setting, int64_t least) {
  const std::optional<int64_t> number = count_for(setting, key, -1);
  if (!number || *number < least) return false;
  set_count(setting, *number, key);
  return true;
}

bool FlatReader::copy_flag(std::string_view key, std::string_view setting) {
  const std::optional<bool> said = said_flag(key);
  if (!said) return false;
  set_flag(setting, *said, key);
  return true;
}

void FlatReader::set(std::string_view setting, std::string value, std::string_view key) {
  reading_.settings.set(setting, std::move(value), origin(key));
}

void FlatReader::set_flag(std::string_view setting, bool on, std::string_view key) {
  set(setting, on ? "true" : "false", key);
}

void FlatReader::set_count(std::string_view setting, int64_t number, std::string_view key) {
  set(setting, std::to_string(number), key);
}

int64_t FlatReader::copy_count_or(std::string_view key, std::string_view setting,
                                  int64_t fallback) {
  const int64_t number = integer(key, 1).value_or(fallback);
  set_count(setting, number, key);
  return number;
}

void FlatReader::set_default(std::string_view setting, std::string value, std::string_view reason) {
  reading_.defaults.set(setting, std::move(value),
                        spec::Origin{fmt::format("{}, {}", file_, reason), ""});
}

void FlatReader::set_fallback(std::string_view setting, std::string value,
                              std::string_view reason) {
  reading_.fallbacks.set(setting, std::move(value),
                         spec::Origin{fmt::format("{}, {}", file_, reason), ""});
}

void FlatReader::set_framework(const char* recipe) {
  spec::set_framework(reading_.settings, recipe, file_);
}

void FlatReader::not_modelled(std::string_view key, std::string says) {
  reading_.leftovers.push_back(
      {Leftover::Kind::kNotModelled, std::string(key), origin(key).text, std::move(says)});
}

spec::Origin FlatReader::origin(std::string_view key) const {
  auto it = values_.find(key);
  // Of a section its first value says where.
  if (it == values_.end() && has_section(key)) it = values_.lower_bound(std::string(key) + '.');
  if (it != values_.end() && !it->second.from.empty()) return {it->second.from, std::string(key)};
  if (it == values_.end() || it->second.line == 0)
    return {file_ + ", by default", std::string(key)};
  if (it->second.line < 0) return {"the command line", std::string(key)};
  return {fmt::format("{}:{}", file_, it->second.line), std::string(key)};
}

void FlatReader::refuse(std::string_view key, std::string_view allowed) {
  const auto it = values_.find(key);
  const std::string found = it != values_.end()
                                ? fmt::format("\"{}\"", it->second.text.substr(0, 60))
                            : has_section(key) ? "a section"
                                               : "\"\"";
  fail({base::ErrorKind::kInput,
        fmt::format("{}: {}: found {}; allowed: {}", origin(key).text, key, found, allowed)});
}

void FlatReader::fail(base::Error error) {
  if (!error_) error_ = std::move(error);
}

/// The name that was perhaps meant by one that only a section's pattern knows: a misspelt word of
/// the reader's, in a section whose other words change nothing.
std::string FlatReader::perhaps_meant(const std::string& key) const {
  if (is_listed_option(framework_, key)) return "";
  const size_t dot = key.rfind('.');
  const std::string section = dot == key.npos ? "" : key.substr(0, dot + 1);
  std::vector<std::string_view> absent;
  for (const std::string& asked : asked_)
    if (asked.starts_with(section) && asked.find('.', section.size()) == asked.npos &&
        values_.find(asked) == values_.end())
      absent.push_back(std::string_view(asked).substr(section.size()));
  const std::string last = key.substr(section.size());
  const auto near = base::nearest(last, absent);
  constexpr size_t kFewest = 6;
  if (!near || last.size() < kFewest || base::edit_distance(last, *near) > 2) return "";
  return section + std::string(*near);
}

void FlatReader::set_node_gpus(int64_t each, int64_t nodes, std::string_view key) {
  if (nodes < 2) return;
  reading_.node_gpus = each;
  reading_.node_gpus_from = fmt::format("{}: {}", origin(key).text, key);
}

/// Whether a section around the key says `enabled: false`.
bool FlatReader::is_switched_off(const std::string& key) const {
  for (size_t dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1)) {
    const auto it = values_.find(key.substr(0, dot) + ".enabled");
    if (it != values_.end() && is_off(it->second.text)) return true;
  }
  return false;
}

void FlatReader::add_leftovers() {
  const std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const auto& [key, value] : values_) {
    if (asked_.find(key) != asked_.end()) continue;
    Leftover leftover = classify(framework_, key, origin(key).text, known);
    const bool off = is_off(value.text) || value.text == "auto" || is_switched_off(key);
    if (leftover.kind == Leftover::Kind::kNotModelled && off)
      leftover = {Leftover::Kind::kNoEffect, key, leftover.where, "off"};
    if (divides_job(key) && !off && value.text != "1")
      return fail({base::ErrorKind::kInput,
                   fmt::format("{}: {}: found \"{}\" where a size of parallelism is not read: the "
                               "job would be another one",
                               origin(key).text, key, value.text.substr(0, 60))});
    if (const std::string meant = perhaps_meant(key); !meant.empty())
      leftover = {Leftover::Kind::kUnknown, key, leftover.where, meant};
    reading_.leftovers.push_back(std::move(leftover));
  }
}

Result<Reading> FlatReader::finish(std::string form) {
  if (!error_) add_leftovers();
  if (error_) return tl::unexpected(*error_);
  reading_.form = std::move(form);
  return std::move(reading_);
}

namespace {

/// Blanks in place of a comment; lines stay where they are.
void blank_until(std::string& text, size_t& at, size_t end) {
  for (size_t i = at; i < end; ++i)
    if (text[i] != '\n') text[i] = ' ';
  at = end == at ? at : end - 1;
}

}  // namespace

Result<spec::FlatYaml> flatten_json(const std::string& text, const std::string& file,
                                    const spec::YamlContext& context) {
  // Inside braces tabs are only space, but the YAML parser minds them; comments are those of
  // JSON with comments, which DeepSpeed reads.
  std::string plain = text;
  bool quoted = false;
  for (size_t i = 0; i < plain.size(); ++i) {
    if (quoted && plain[i] == '\\')
      ++i;
    else if (plain[i] == '"')
      quoted = !quoted;
    else if (!quoted && plain[i] == '\t')
      plain[i] = ' ';
    else if (!quoted && plain.compare(i, 2, "//") == 0)
      blank_until(plain, i, std::min(plain.find('\n', i), plain.size()));
    else if (!quoted && plain.compare(i, 2, "/*") == 0)
      blank_until(
          plain, i,
          plain.find("*/", i + 2) == plain.npos ? plain.size() : plain.find("*/", i + 2) + 2);
  }
  auto values = spec::flatten_yaml(plain, file, context);
  if (values) return values;
  std::string message = values.error().message;
  for (const auto& [yaml, json] :
       {std::pair<std::string_view, std::string_view>("not valid YAML", "not valid JSON"),
        {"expected a YAML mapping (key: value)", "expected an object"},
        {"a second YAML document", "a second value"}})
    if (const size_t at = message.find(yaml); at != message.npos)
      message.replace(at, yaml.size(), json);
  return input_error(std::move(message));
}

Result<spec::FlatYaml> flatten_either(const std::string& text, const std::string& file,
                                      const spec::YamlContext& context) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != text.npos && text[first] == '{';
  return json ? flatten_json(text, file, context) : spec::flatten_yaml(text, file, context);
}

}  // namespace ergometer::intake
