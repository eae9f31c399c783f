#include <vector>

#include "page/columns.h"
#include "page/run_part.h"

namespace ergometer::page {

void write_energy_part(base::JsonWriter& json, const RunView& view) {
  std::vector<run::EnergyRow> stacks = view.run().power.step_energy;
  std::erase_if(stacks, [](const auto& row) { return row.dimension != run::kStackDimension; });
  if (stacks.empty()) return;
  json.key("energy_stacks").begin_object();
  column(json, "stack", stacks, &run::EnergyRow::name);
  column(json, "joules", stacks, &run::EnergyRow::joules);
  column(json, "seconds", stacks, &run::EnergyRow::seconds);
  json.end_object();
}

}  // namespace ergometer::page
