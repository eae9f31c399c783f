#pragma once

#include "spread/crew.h"

namespace ergometer::spread {

/// What the part "mpi" exports under the name kMakeMpiCrew: `mpi_crew`.
inline constexpr const char* kMakeMpiCrew = "ergometer_make_mpi_crew";
using MakeMpiCrew = void(const Launched&, std::function<void(const std::string&)>,
                         Result<std::unique_ptr<Crew>>& made);

}  // namespace ergometer::spread
