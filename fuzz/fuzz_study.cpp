// A study file: read, its points made, and its figures drawn of points that were not predicted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "study/expand.h"
#include "study/finish.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  constexpr size_t kMostPoints = 2000;
  const auto definition =
      study::parse_definition(std::string(reinterpret_cast<const char*>(data), size), "study.yaml");
  if (!definition) {
    if (definition.error().message.empty()) std::abort();
    return 0;
  }
  double points = static_cast<double>(definition->seeds.size() + 1);
  for (const study::PointSet& set : definition->sets)
    for (const study::Axis& axis : set.axes) points *= static_cast<double>(axis.values.size() + 1);
  if (points > kMostPoints) return 0;
  const auto expansion = study::expand(*definition);
  if (!expansion) {
    if (expansion.error().message.empty()) std::abort();
    return 0;
  }
  run::Study study;
  for (const study::Point& point : expansion->points) {
    study.points.push_back(study::described(point));
    // Some figures simulate their points once more, for minutes under sanitizers: not without a
    // model.
    std::erase_if(study.points.back().settings, [](const auto& it) { return it.first == "model"; });
    study.points.back().status = run::PointStatus::kOk;
    study.points.back().values = {{"performance.step_time_s", 1}, {"power.tokens_per_j", 2}};
  }
  study::finish(*definition, study);
  return 0;
}
