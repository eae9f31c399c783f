// Any file in which users say how they train.
#include <cstddef>
#include <cstdint>
#include <string>

#include "check_settings.h"
#include "intake/read_user_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"fuzz-input.yaml", "fuzz-input"}) {
    const auto reading = intake::parse_user_file(text, name);
    if (!reading) {
      if (reading.error().message.empty()) std::abort();
      continue;
    }
    spec::Settings all = reading->fallbacks;
    all.merge(reading->defaults);
    all.merge(reading->settings);
    // A model's path is not followed: the input names files at will.
    if (const auto* model = all.find("model"); model != nullptr && !model->text.starts_with('{'))
      all.erase("model");
    for (const char* file : {"cluster", "software", "rank_map"}) all.erase(file);
    check_settings(all);
    for (const intake::Leftover& it : reading->leftovers)
      if (it.kind == intake::Leftover::Kind::kNotModelled && it.says.empty()) std::abort();
  }
  return 0;
}
