#include "spec/files/fingerprint.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/version.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_files.h"

namespace ergometer::spec {
namespace {

std::string catalog_hash() {
  Fingerprint hash;
  for (const CatalogEntry& entry : catalog())
    if (entry.kind != CatalogKind::kStudy) {
      hash.add(entry.path);
      hash.add(entry.text);
    }
  return hash.hex();
}

}  // namespace

void Fingerprint::add(std::string_view text) {
  for (const char c : text) mix(static_cast<unsigned char>(c));
  mix(0xff);  // so that "ab", "c" and "a", "bc" differ
}

void Fingerprint::add_setting(std::string_view name, const std::string& text) {
  add(name);
  add(text);
  std::error_code ignored;
  const bool may_be_file = name == "model" || name == "cluster" || name == "software";
  const bool is_inline = text.starts_with('{');
  if (!may_be_file || (!is_inline && !std::filesystem::is_regular_file(text, ignored))) return;
  auto content = is_inline ? Result<std::string>(text) : base::read_file(text, kLargestWritten);
  // A cluster's file may name files of its own.
  if (content && name == "cluster")
    content = with_parts_inline(*content, is_inline ? "cluster" : text);
  if (content) add(*content);
}

void Fingerprint::add_program() {
  static const std::string kCatalog = catalog_hash();
  add(base::version());
  add(kCatalog);
}

std::string Fingerprint::hex() const { return fmt::format("{:016x}", state_); }

}  // namespace ergometer::spec
