#include "spread/crew.h"

// Stands in for mpi_crew.cpp where MPI is not found.
namespace ergometer::spread {

bool built_with_mpi() { return false; }

Result<std::unique_ptr<Crew>> mpi_crew(const Launched&, std::function<void(const std::string&)>) {
  return missing_error("this program has no MPI");
}

}  // namespace ergometer::spread
