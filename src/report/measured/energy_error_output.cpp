#include "report/measured/energy_error_output.h"

#include <fmt/format.h>

namespace ergometer::report {

std::string plus_minus(const run::EnergyError& error) {
  return error.stated ? fmt::format(" +-{:.1f} %", error.percent()) : "";
}

void write_error(base::JsonWriter& json, std::string_view name, const run::EnergyError& error) {
  if (error.stated) json.member(name, error.percent());
}

}  // namespace ergometer::report
