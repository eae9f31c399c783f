// Flight recorders' dumps: pickles and JSON, one a rank: refused with a message, or told. The input
// is cut at every "|rank|" into the dumps of so many ranks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analysis/flight/flight_report.h"
#include "import/flight/flight_recorder.h"
#include "report/measured/flight_output.h"

namespace {

using namespace ergometer;

void check(const analysis::FlightReport& report) {
  for (const analysis::FlightGroupReport& group : report.groups)
    if ((group.fault == analysis::FlightFault::kNone) != group.callers.empty()) std::abort();
  for (const analysis::FlightArrivals& row : report.arrivals)
    if (row.median_ns < 0 || row.latest_ns < row.median_ns || row.last > row.collectives)
      std::abort();
  if (!report.all_ended() && report.in_a_circle && !report.culprits.empty()) std::abort();
  if (report::flight_json(report, {}).empty() || report::flight_text(report, {}, {}).empty())
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kCut = "|rank|";
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<run::FlightDump> dumps;
  for (int rank = 0; rank < 8; ++rank) {
    const size_t end = std::min(rest.find(kCut), rest.size());
    importer::TextSource source{std::string(rest.substr(0, end))};
    auto dump = importer::read_flight_dump(source, "rank_" + std::to_string(rank));
    if (!dump && dump.error().message.empty()) std::abort();
    if (dump) dumps.push_back(*std::move(dump));
    if (end == rest.size()) break;
    rest.remove_prefix(end + kCut.size());
  }
  check(analysis::report_flight(dumps));
  return 0;
}
