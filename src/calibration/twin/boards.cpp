#include "calibration/twin/boards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/collection.h"
#include "calibration/twin/board_fit.h"
#include "calibration/twin/board_overrides.h"
#include "physics/heat.h"
#include "spec/job/node_groups.h"

namespace ergometer::calibration::twin {
namespace {

/// Whether a node's inlet is read, or three of its GPUs' temperatures, which bad paste in one of
/// them cannot outvote.
std::vector<bool> inlets_told(const BoardReadings& readings) {
  constexpr int64_t kFewestGpus = 3;
  std::vector<bool> told;
  for (size_t n = 0; n < readings.inlets_c.size(); ++n) {
    const auto warm = std::ranges::count_if(readings.gpus, [&](const BoardReading& it) {
      return it.node == static_cast<int64_t>(n) && it.die_c > 0;
    });
    told.push_back(warm > 0 && (readings.inlets_c[n] || warm >= kFewestGpus));
  }
  return told;
}

/// Nodes, recorded in part, whose inlet stays as the job says.
void note_inlets(Boards& boards) {
  std::vector<std::string> few;
  for (const Board& board : boards.boards) {
    const std::string host =
        board.read.host.empty() ? fmt::format("node{}", board.read.node) : board.read.host;
    if (!boards.inlets[static_cast<size_t>(board.read.node)].told && !base::contains(few, host))
      few.push_back(host);
  }
  if (!few.empty())
    boards.notes.push_back(fmt::format(
        "inlet of {}: takes a sensor of it, or temperatures of three GPUs", fmt::join(few, ", ")));
}

void note_untold(const spec::Job& job, Boards& boards) {
  const auto note = [&](const char* text) { boards.notes.emplace_back(text); };
  const auto none_told = [&](BoardValue Board::* which) {
    return std::ranges::none_of(boards.boards,
                                [&](const Board& board) { return (board.*which).told; });
  };
  note_inlets(boards);
  if (std::ranges::all_of(boards.boards, [](const Board& it) { return it.read.power_w <= 0; }))
    note("leakage by board: no power was read");
  else if (none_told(&Board::leakage))
    note(
        "leakage by board: the gains of power sensors differ by as much as it draws, and no cap "
        "turned it into clocks");
  if (none_told(&Board::resistance))
    note("resistance by board: temperatures tell too little of it");
  if (std::ranges::none_of(boards.inlets, &NodeInlet::read) &&
      std::ranges::any_of(boards.inlets, &NodeInlet::told))
    note("inlets were not read: what all GPUs of a node are warmer counts as its inlet");
  note("links and network cards by GPU: no sensor of these tells them");
  if (job.conditions.cluster_cap_w > 0)
    note("a share of the cluster's cap that others left: caps are taken as the job says");
}

}  // namespace

Result<Boards> fit_boards(const run::DeviceLog& log, const spec::Job& job, const std::string& name,
                          const std::vector<std::string>& hosts) {
  ERGOMETER_TRY(spec::refuse_groups(job.cluster, "a recording by board"));
  if (job.conditions.constant_clocks)
    return input_error("{}: boards differ in power and heat, which --clocks constant leaves out",
                       name);
  ERGOMETER_ASSIGN(const physics::CoolingParameters cooling,
                   physics::cooling_parameters(job.cluster.node, job.conditions.cooling));
  ERGOMETER_ASSIGN(const BoardReadings readings, board_readings(log, job, name, hosts));
  const std::vector<bool> told = inlets_told(readings);
  auto boards =
      board_fit(readings, without_told(job, readings.gpus, told),
                job.conditions.has_inlet ? job.conditions.inlet_c : cooling.inlet_c, told);
  if (!boards) {
    base::Error error = boards.error();
    error.message = fmt::format("{}: {}", name, error.message);
    return tl::unexpected(std::move(error));
  }
  note_untold(job, *boards);
  return boards;
}

}  // namespace ergometer::calibration::twin
