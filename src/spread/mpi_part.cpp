// Stands in for mpi_crew.cpp in the program, which loads it when a job of several ranks is there.
#include "spread/mpi_part.h"

#include "base/program_part.h"

namespace ergometer::spread {

bool built_with_mpi() { return true; }

Result<std::unique_ptr<Crew>> mpi_crew(const Launched& launched,
                                       std::function<void(const std::string&)> note) {
  ERGOMETER_ASSIGN(MakeMpiCrew* const make, base::load_from_part<MakeMpiCrew>("mpi", kMakeMpiCrew));
  Result<std::unique_ptr<Crew>> made;
  make(launched, std::move(note), made);
  return made;
}

}  // namespace ergometer::spread
