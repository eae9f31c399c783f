#include "spec/yaml/yaml_document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "base/random.h"
#include "spec/catalog/read.h"
#include "spec/yaml/yaml_flat.h"
#include "spec/yaml/yaml_node.h"

namespace ergometer::spec {
namespace {

/// A value with everything that a reader of the document can see of it.
std::string shown(const YamlValue& value, int depth = 0) {
  if (depth > 40) return "...";
  std::string text = fmt::format("{}:{}", value.line, static_cast<int>(value.kind));
  if (value.is_scalar()) text += fmt::format("{}<{}>", value.quoted ? "q" : "", value.scalar);
  for (const YamlValue* item : value.items) text += " - " + shown(*item, depth + 1);
  for (const auto& [key, held] : value.pairs)
    text += fmt::format(" ({}) = ({})", shown(*key, depth + 1), shown(*held, depth + 1));
  return text;
}

std::string shown_plain(std::string_view text) {
  const auto document = parse_plain_yaml(text);
  return document ? shown(document->root()) : "not plain";
}

std::string shown_any(std::string_view text) {
  const auto document = parse_any_yaml(text, "f.yaml");
  return document ? shown((*document)->root()) : document.error().message;
}

std::vector<CatalogEntry> yaml_files() {
  std::vector<CatalogEntry> files;
  for (const CatalogEntry& entry : catalog())
    if (entry.path.ends_with(".yaml")) files.push_back(entry);
  return files;
}

TEST(YamlDocument, CatalogIsPlain) {
  ASSERT_GT(yaml_files().size(), 100u);
  for (const CatalogEntry& entry : yaml_files()) {
    if (entry.kind == CatalogKind::kStudy) continue;  // few, and longer to play than to read
    EXPECT_NE(parse_plain_yaml(entry.text), nullptr) << entry.path;
  }
}

TEST(YamlDocument, PlainReadsCatalogAsTheLibraryDoes) {
  for (const CatalogEntry& entry : yaml_files()) {
    const auto document = parse_plain_yaml(entry.text);
    if (document == nullptr) continue;
    EXPECT_EQ(shown(document->root()), shown_any(entry.text)) << entry.path;
  }
}

TEST(YamlDocument, PlainReadsWhatItTakes) {
  for (const std::string_view text :
       {"a: 1\n", "a: 1", "a: b c  # why\n", "a: 'x # y'\nb: \"z\"\n",
        "a:\n  b: 1\n\n  # c\n  c: 2\nd: 3\n",
        "a:\n  - 1\n  - b: 2\n    c: 3\n  - {d: 4, e: [5, six, '7']}\n", "a: []\nb: {}\n",
        "a: ~\nb: null\n", "a: http://b/c:d\n", "a: b#c\n", "- 1\n- a: 2\n",
        "a: -1\nb: +2\nc: .5\n", "a:  # why\n    b: x\nc: x\n", "a: [ 1 , 2 ]  # why\n",
        "a: Null\nb: nullable\n", "# first\n\na: 1\n# last\n"})
    EXPECT_EQ(shown_plain(text), shown_any(text)) << text;
}

TEST(YamlDocument, PlainLeavesTheRestToTheLibrary) {
  for (const std::string_view text : {"",
                                      "a",
                                      "a: &b 1\n",
                                      "a: *b\n",
                                      "a: |\n  b\n",
                                      "a: b\n  c\n",
                                      "a: \"b\\n\"\n",
                                      "a: 'b''c'\n",
                                      "a:\n- 1\n",
                                      "a:\t1\n",
                                      "a: b: c\n",
                                      "? a\n",
                                      "[a]: b\n",
                                      "a: [1,\n 2]\n",
                                      "a: [b: c]\n",
                                      "a: !t b\n",
                                      "--- \na: 1\n",
                                      "a: 1\n...\n",
                                      "a: 1\n b: 2\n",
                                      "a:\n    b: 1\n  c: 2\n",
                                      "a:\n",
                                      "a: [1, ]\n",
                                      "a: {b}\n",
                                      "a: \xc3\xa9\n",
                                      "~: 1\n",
                                      "a: 'b\n",
                                      "a: [1\n",
                                      "a: @b\n",
                                      "a: 1]\n: 2\n"})
    EXPECT_EQ(shown_plain(text), "not plain") << text;
}

/// Files with a few characters changed, most of them no longer plain or no longer YAML.
TEST(YamlDocument, PlainIsNeverAnotherReading) {
  constexpr std::string_view kSigns = " \n:#-,[]{}'\"?&*!|>%@~.\\ax0\t  \n\n";
  const std::vector<CatalogEntry> files = yaml_files();
  size_t plain = 0;
  for (uint64_t round = 0; round < 4000; ++round) {
    base::Random random(1, round, "yaml");
    const std::string_view file = files[random.bits(0) % files.size()].text;
    std::string text(file.substr(0, 900));
    for (uint64_t i = 0; i <= random.bits(1) % 3; ++i) {
      const size_t at = random.bits(3 * i + 2) % text.size();
      const char sign = kSigns[random.bits(3 * i + 3) % kSigns.size()];
      if (random.bits(3 * i + 4) % 3 == 0)
        text.erase(at, 1);
      else if (random.bits(3 * i + 4) % 3 == 1)
        text.insert(at, 1, sign);
      else
        text[at] = sign;
    }
    const std::string found = shown_plain(text);
    if (found == "not plain") continue;
    ++plain;
    ASSERT_EQ(found, shown_any(text)) << text;
  }
  EXPECT_GT(plain, 300u);
}

TEST(YamlDocument, AliasIsTheSameValue) {
  const auto document = parse_yaml("a: &x {b: 1}\nc: *x\n", "f.yaml");
  ASSERT_TRUE(document);
  const YamlValue& root = (*document)->root();
  EXPECT_EQ(root.pairs[0].second, root.pairs[1].second);
}

TEST(YamlDocument, HoldsOneDocument) {
  for (const char* one :
       {"---\na: 1\n", "a: 1\n---\n", "a: 1\n---\n# nothing\n...\n", "---\n---\na: 1\n",
        "# a license\n---\n# more\n---\na: 1\n---\n", "null\n---\na: 1\n"}) {
    const auto document = parse_yaml(one, "f.yaml");
    ASSERT_TRUE(document) << one;
    ASSERT_TRUE((*document)->root().is_map()) << one;
    EXPECT_EQ((*document)->root().pairs[0].second->scalar, "1") << one;
    const auto values = flatten_yaml(one, "f.yaml");
    ASSERT_TRUE(values) << one;
    EXPECT_EQ(values->at("a").text, "1") << one;
  }
  const std::string said =
      "f.yaml:3: a second YAML document begins here, which would not be read; allowed: one";
  for (const char* two : {"a: 1\n---\nb: 2\n", "a: 1\n---\n- 1\n"}) {
    EXPECT_EQ(parse_yaml(two, "f.yaml").error().message, said) << two;
    EXPECT_EQ(flatten_yaml(two, "f.yaml").error().message, said) << two;
  }
}

TEST(YamlDocument, MistakesNameTheirPlace) {
  const auto document = parse_yaml("a: 1\nb: [1\n", "f.yaml");
  ASSERT_FALSE(document);
  EXPECT_TRUE(document.error().message.starts_with("f.yaml:3:1: not valid YAML"))
      << document.error().message;
}

TEST(YamlDocument, WhatStandsBehindAFlowIsNoDocument) {
  for (const char* text : {"{a: b}, c\n", "{a: b}\n, c\n"}) {
    const auto document = parse_any_yaml(text, "f.yaml");
    ASSERT_FALSE(document) << text;
    EXPECT_NE(document.error().message.find("belongs to no document"), std::string::npos)
        << document.error().message;
    EXPECT_THROW(yaml_nodes(text), YAML::Exception) << text;
  }
}

}  // namespace
}  // namespace ergometer::spec
