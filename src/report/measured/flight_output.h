#pragma once

#include <string>

#include "analysis/flight/flight_report.h"
#include "base/json_writer.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What the flight recorders of a job's ranks tell, for a terminal of 80 columns: of each group
/// whose ranks differ the first collective at which they do and who did what there, whom all wait
/// for; then how long collectives took and which ranks come late. Findings are the caller's.
std::string flight_text(const analysis::FlightReport& report, const TextStyle& style);
/// The same where there is nothing else: with findings and what of the files was left out.
std::string flight_text(const analysis::FlightReport& report,
                        const std::vector<run::Dropped>& dropped, const TextStyle& style);
/// The same as the member `flight_recorder`.
void write_flight(base::JsonWriter& json, const analysis::FlightReport& report);
/// A document of it alone, with `findings` and `dropped`.
std::string flight_json(const analysis::FlightReport& report,
                        const std::vector<run::Dropped>& dropped);

}  // namespace ergometer::report
