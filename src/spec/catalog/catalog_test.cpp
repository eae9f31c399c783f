#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/text.h"
#include "spec/catalog/read.h"

namespace ergometer::spec {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Catalog, HoldsEveryDataFileByteForByte) {
  const std::filesystem::path root = std::filesystem::path(ERGOMETER_SOURCE_DIR) / "catalog";
  size_t files = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    if (file.path().parent_path() == root) continue;  // what calibration fits is no entry
    const std::string extension = file.path().extension().string();
    if (extension == ".json" || extension == ".yaml" || extension == ".csv") ++files;
  }
  EXPECT_EQ(catalog().size(), files);
  for (const CatalogEntry& entry : catalog())
    EXPECT_TRUE(entry.text == contents(root.parent_path() / entry.path)) << entry.path;
}

TEST(Catalog, AliasesAreReadFromJsonAndYamlWithoutParsing) {
  const CatalogEntry json{CatalogKind::kModel, "a",
                          R"({"_ergometer": {"aliases": ["meta/A-8B", "a8"]}})", ""};
  EXPECT_EQ(aliases_of(json), (std::vector<std::string_view>{"meta/A-8B", "a8"}));
  const CatalogEntry yaml{CatalogKind::kGpu, "a",
                          "name: A\n# no aliases here\naliases: [h100, \"H100 SXM\"]\n", ""};
  EXPECT_EQ(aliases_of(yaml), (std::vector<std::string_view>{"h100", "H100 SXM"}));
  const CatalogEntry none{CatalogKind::kGpu, "a", "name: A\naliases: []\n", ""};
  EXPECT_TRUE(aliases_of(none).empty());
  const CatalogEntry cut{CatalogKind::kGpu, "a", "name: A\naliases: [x", ""};
  EXPECT_TRUE(aliases_of(cut).empty());
}

TEST(Catalog, NoNameMeansTwoThingsOfOneKind) {
  std::set<std::pair<CatalogKind, std::string>> seen;
  for (const CatalogEntry& entry : catalog()) {
    std::set<std::string> words{entry.name};
    for (const std::string_view alias : aliases_of(entry)) {
      std::string lower(alias);
      for (char& c : lower) c = base::lower(c);
      words.insert(lower);
    }
    for (const std::string& word : words)
      EXPECT_TRUE(seen.insert({entry.kind, word}).second) << word;
  }
}

}  // namespace
}  // namespace ergometer::spec
