#include "intake/asked_gpus.h"

#include "spec/settings/settings.h"

namespace ergometer::intake {

Result<void> take_gpus(const AskedGpus& asked, Reading& reading) {
  if (!asked.open.empty() && asked.starts_all) {
    reading.settings.erase("gpus");
    reading.defaults.erase("gpus");
    reading.open["gpus"] = asked.open;
  }
  if (asked.gpus == 0) return {};
  const auto* said = reading.settings.find("gpus");
  if (said != nullptr && said->text != std::to_string(asked.gpus))
    return input_error(
        "{}: {} GPUs are asked for, and the command starts {}; make both "
        "the same",
        asked.where, asked.gpus, said->text);
  if (!asked.starts_all) return {};
  reading.settings.set("gpus", std::to_string(asked.gpus), {asked.where, asked.key});
  reading.open.erase("gpus");
  return {};
}

}  // namespace ergometer::intake
