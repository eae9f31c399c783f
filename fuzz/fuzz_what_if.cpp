// The list of --what-if: every setting that it names has a ladder with the job's own value on it,
// or says why not.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "study/neighbours/ladder.h"

namespace {

ergometer::spec::Job small_job() {
  ergometer::spec::Settings settings;
  for (const auto& [name, value] : {std::pair{"model", "mixtral-8x7b"},
                                    {"cluster", "hgx-h100"},
                                    {"gpus", "16"},
                                    {"expert_model_parallel_size", "4"},
                                    {"global_batch_size", "32"}})
    settings.set(name, value, {"fuzz", ""});
  return *ergometer::spec::resolve(settings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  static const spec::Job job = small_job();
  const auto settings =
      study::settings_to_vary(std::string(reinterpret_cast<const char*>(data), size));
  if (!settings) {
    ERGOMETER_CHECK(!settings.error().message.empty(), "an error without words");
    return 0;
  }
  for (const spec::SettingInfo* setting : *settings) {
    const auto ladder = study::ladder(*setting, job);
    ERGOMETER_CHECK(ladder ? ladder->own < ladder->values.size() && ladder->values.size() >= 2
                           : !ladder.error().message.empty(),
                    "a ladder holds the job's own value and another");
  }
  return 0;
}
