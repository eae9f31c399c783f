#include "cli/analyze/analyze_dumps.h"

#include "analysis/flight/flight_report.h"
#include "cli/console/terminal.h"
#include "report/measured/flight_output.h"

namespace ergometer::cli {

Result<void> analyze_dumps(const importer::Traces& traces, const Arguments& arguments,
                           const Console& console) {
  if (arguments.has("report"))
    return input_error(traces.dumps.front().file +
                       ": a flight recorder's dump has no page; leave --report out");
  const analysis::FlightReport flight = analysis::report_flight(traces.dumps);
  console.answer(arguments.has("json")
                     ? report::flight_json(flight, traces.dropped)
                     : report::flight_text(flight, traces.dropped, terminal_style(console.out)));
  return {};
}

}  // namespace ergometer::cli
