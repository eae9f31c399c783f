// Files of searches, and the estimates in them: what is read can be written and reads the same
// again.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "search/estimates.h"
#include "search/search_file.h"

namespace {

namespace search = ergometer::search;

const search::Space& space() {
  static const search::Space space = [] {
    ergometer::spec::Settings settings;
    for (const auto& [name, value] : {std::pair{"model", "llama3-8b"},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "8"},
                                      {"global_batch_size", "8"}})
      settings.set(name, value, {});
    auto made = search::Space::make(settings, {});
    ERGOMETER_CHECK(made.has_value(), "the space is legal");
    return *std::move(made);
  }();
  return space;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<search::Layout> layouts = space().layouts();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto file = search::parse_search_file(text, "f");
  if (!file) return 0;
  const auto same = search::parse_search_file(search::to_text(*file), "f");
  ERGOMETER_CHECK(same && same->words == file->words && same->estimates == file->estimates,
                  "a search's file reads as it was written");
  const auto estimates = search::parse_estimates(space(), layouts, file->estimates);
  if (!estimates) return 0;
  const std::string written = search::to_text(*estimates, false);
  const auto again = search::parse_estimates(space(), layouts, written);
  ERGOMETER_CHECK(again && search::to_text(*again, false) == written,
                  "estimates read as they were written");
  return 0;
}
