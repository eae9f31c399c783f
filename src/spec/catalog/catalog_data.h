#pragma once

#include <span>

#include "spec/catalog/read.h"

namespace ergometer::spec {

/// One file of catalog/ as the build put it into the program (`cmake/embed_catalog.cmake`).
struct EmbeddedFile {
  CatalogKind kind;
  const char* name;  ///< file name without extension, lower case
  const char* path;  ///< for messages: "catalog/models/llama3-70b.json"
  const char* begin;
  const char* end;
};

std::span<const EmbeddedFile> embedded_files();

}  // namespace ergometer::spec
