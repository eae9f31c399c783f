#include <string>
#include <vector>

#include "page/columns.h"
#include "page/run_part.h"

namespace ergometer::page {

void write_energy_part(base::JsonWriter& json, const RunView& view) {
  std::vector<std::string> stacks;
  std::vector<double> joules, seconds;
  for (const run::EnergyRow& row : view.run().power.step_energy) {
    if (row.dimension != run::kStackDimension) continue;
    stacks.push_back(row.name);
    joules.push_back(row.joules);
    seconds.push_back(row.seconds);
  }
  if (stacks.empty()) return;
  json.key("energy_stacks").begin_object();
  column(json, "stack", stacks);
  column(json, "joules", joules);
  column(json, "seconds", seconds);
  json.end_object();
}

}  // namespace ergometer::page
