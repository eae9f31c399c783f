#include "spec/yaml/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <sstream>

namespace ergometer::spec {
namespace {

using Kind = YamlValue::Kind;

bool indents_by_tabs(std::string_view text) {
  const size_t tab = text.find("\n\t");
  return text.starts_with('\t') || tab != text.npos;
}

/// What the library reads, made into a document.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(YamlDocument& document) : document_(document) {}

  /// Behind a flow (`{a: b}, c`) the library begins the same document for ever.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == began_at_)
      throw YAML::ParserException(mark, "what stands here belongs to no document");
    began_at_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    place(begin(Kind::kNull, mark, anchor));
  }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override { place(anchored_[anchor]); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    YamlValue* value = begin(Kind::kScalar, mark, anchor);
    value->quoted = tag == "!";
    value->scalar = document_.keep(text);
    place(value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(begin(Kind::kList, mark, anchor));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(begin(Kind::kMap, mark, anchor));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlValue* value;
    const YamlValue* key;  ///< of a mapping, whose value is to come
  };

  YamlValue* begin(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    YamlValue* value = document_.add(kind, mark.is_null() ? 1 : mark.line + 1);
    if (anchor != 0) anchored_[anchor] = value;
    return value;
  }
  void open(YamlValue* value) { open_.push_back({value, nullptr}); }
  void close() {
    const YamlValue* value = open_.back().value;
    open_.pop_back();
    place(value);
  }
  void place(const YamlValue* value) {
    if (open_.empty()) return document_.set_root(value);
    Open& parent = open_.back();
    if (parent.value->is_list()) {
      parent.value->items.push_back(value);
    } else if (parent.key == nullptr) {
      parent.key = value;
    } else {
      parent.value->pairs.emplace_back(std::exchange(parent.key, nullptr), value);
    }
  }

  YamlDocument& document_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, const YamlValue*> anchored_;
  int began_at_ = -1;
};

}  // namespace

YamlValue* YamlDocument::add(Kind kind, int line) {
  YamlValue& value = values_.emplace_back();
  value.kind = kind;
  value.line = line;
  return &value;
}

Result<std::shared_ptr<const YamlDocument>> parse_any_yaml(std::string_view text,
                                                           const std::string& file) {
  auto document = std::make_shared<YamlDocument>();
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    // A document that says nothing, a comment above `---`, is none.
    for (Builder builder(*document); document->root().is_null();)
      if (!parser.HandleNextDocument(builder)) return document;
    YamlDocument other;
    for (Builder behind(other); parser.HandleNextDocument(behind);)
      if (!other.root().is_null()) return second_document(file, other.root().line);
    return document;
  } catch (const YAML::Exception& error) {
    const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    const int column = error.mark.is_null() ? 1 : error.mark.column + 1;
    const std::string_view tab =
        indents_by_tabs(text) ? "; a line begins with a tab, YAML indents with spaces" : "";
    return input_error("{}:{}:{}: not valid YAML: {}{}", file, line, column, error.msg, tab);
  }
}

void walk_yaml(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  YamlDocument any;
  for (Builder builder(any); parser.HandleNextDocument(builder);) continue;
}

tl::unexpected<base::Error> second_document(const std::string& file, int line) {
  return input_error(
      "{}:{}: a second YAML document begins here, which would not be read; allowed: one", file,
      line);
}

Result<std::shared_ptr<const YamlDocument>> parse_yaml(std::string_view text,
                                                       const std::string& file) {
  if (auto document = parse_plain_yaml(text)) return document;
  return parse_any_yaml(text, file);
}

}  // namespace ergometer::spec
