// The part "mpi" of the program, with mpi_crew.cpp.
#include "spread/mpi_part.h"

extern "C" __attribute__((visibility("default"))) void ergometer_make_mpi_crew(
    const ergometer::spread::Launched& launched, std::function<void(const std::string&)> note,
    ergometer::Result<std::unique_ptr<ergometer::spread::Crew>>& made) {
  made = ergometer::spread::mpi_crew(launched, std::move(note));
}
