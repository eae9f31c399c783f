#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "library/content.h"

namespace ergometer {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(std::string_view name, const std::string& why) {
  throw Error(fmt::format("{}: {}", name, why), kWrongInput);
}

const Json& member(const Json& of, std::string_view name, std::string_view whole) {
  if (!of.is_object()) refuse(whole, fmt::format("'{}' is asked of what is no object", name));
  if (const auto found = of.find(name); found != of.end()) return *found;
  std::vector<std::string> names;
  for (const auto& [each, value] : of.items()) names.push_back(each);
  refuse(whole, fmt::format("there is no '{}'{}", name, base::did_you_mean(name, names)));
}

const Json& entry(const Json& of, std::string_view index, std::string_view whole) {
  size_t i = 0;
  const char* const end = index.data() + index.size();
  const auto [read, error] = std::from_chars(index.data(), end, i);
  if (error != std::errc() || read != end) refuse(whole, fmt::format("'[{}]' is no entry", index));
  if (!of.is_array()) refuse(whole, fmt::format("[{}] is asked of what is no list", index));
  if (i >= of.size()) refuse(whole, fmt::format("there are {} entries", of.size()));
  return of[i];
}

/// "memory.stages[0].stage"; the empty name is the whole document.
const Json& find(const Json& document, std::string_view whole) {
  const Json* at = &document;
  for (std::string_view rest = whole; !rest.empty();) {
    if (rest.front() == '[') {
      const size_t end = std::min(rest.find(']'), rest.size());
      at = &entry(*at, rest.substr(1, end - 1), whole);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    } else {
      const size_t end = std::min(rest.find_first_of(".["), rest.size());
      at = &member(*at, rest.substr(0, end), whole);
      rest.remove_prefix(end);
    }
    if (rest.starts_with('.')) rest.remove_prefix(1);
  }
  return *at;
}

void expect(bool right, const Json& found, std::string_view name, const char* wanted) {
  if (found.is_null()) refuse(name, "is not known (null)");
  if (!right) refuse(name, fmt::format("is a JSON {}, no {}", found.type_name(), wanted));
}

}  // namespace

std::shared_ptr<const Json> parse_document(const std::string& text) {
  auto tree = std::make_shared<const Json>(Json::parse(text, nullptr, false));
  if (tree->is_discarded())
    throw Error("these options ask for text or a table, of which there is no document",
                kWrongInput);
  return tree;
}

Document::Document(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

double Document::number(std::string_view name) const {
  const Json& found = find(*content_->tree, name);
  expect(found.is_number(), found, name, "number");
  return found.get<double>();
}

bool Document::truth(std::string_view name) const {
  const Json& found = find(*content_->tree, name);
  expect(found.is_boolean(), found, name, "truth value");
  return found.get<bool>();
}

std::string Document::text(std::string_view name) const {
  const Json& found = find(*content_->tree, name);
  expect(found.is_string(), found, name, "text");
  return found.get<std::string>();
}

std::size_t Document::size(std::string_view name) const {
  const Json& found = find(*content_->tree, name);
  expect(found.is_structured(), found, name, "list or object");
  return found.size();
}

bool Document::has(std::string_view name) const {
  try {
    return !find(*content_->tree, name).is_null();
  } catch (const Error&) {
    return false;
  }
}

std::string Document::json(std::string_view name) const {
  if (name.empty()) return content_->answer.out;
  return find(*content_->tree, name).dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string Document::summary() const { return ask(*content_->command, content_->words).out; }

const std::vector<std::string>& Document::notes() const noexcept { return content_->answer.notes; }

bool Document::answer_is_no() const noexcept { return content_->answer.status != 0; }

}  // namespace ergometer
