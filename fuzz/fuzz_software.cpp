// What users write of their software, and what recipes say of a framework: refused with a message,
// or read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "check_settings.h"
#include "spec/recipe/recipe.h"
#include "spec/recipe/software.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto software = spec::parse_software(text, "software.yaml");
  if (software)
    check_settings(software->settings);
  else if (software.error().message.empty())
    std::abort();
  const auto recipe = spec::parse_recipe(text, "recipe.yaml");
  if (!recipe && recipe.error().message.empty()) std::abort();
  return 0;
}
