#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/result.h"
#include "spec/catalog/read.h"

namespace ergometer::spec {

/// What a catalog entry says, parsed the first time that anyone asks: many jobs share few clusters.
/// `parse(text, path)` must be a function of its arguments. Safe from many threads.
template <class T>
Result<T> parse_once(const CatalogEntry& entry,
                     Result<T> (*parse)(std::string_view, const std::string&)) {
  static std::mutex mutex;
  static std::map<std::string_view, Result<T>> parsed;
  const std::lock_guard lock(mutex);
  auto it = parsed.find(entry.path);
  if (it == parsed.end())
    it = parsed.emplace(entry.path, parse(entry.text, std::string(entry.path))).first;
  return it->second;
}

}  // namespace ergometer::spec
