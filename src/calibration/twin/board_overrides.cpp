#include "calibration/twin/board_overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/collection.h"

namespace ergometer::calibration::twin {
namespace {

using spec::OverrideKind;

/// What a recording tells of one GPU, whatever the job says of it.
bool is_told(OverrideKind kind, const BoardReading& read) {
  switch (kind) {
    case OverrideKind::kResistance: return read.die_c > 0;
    case OverrideKind::kLeakage: return read.power_w > 0 || read.clock_mhz > 0;
    case OverrideKind::kSpeed: return read.clock_mhz > 0;
    default: return false;
  }
}

/// Root of the mean square error of the boards' values.
double mean_error(const Boards& boards, BoardValue Board::* which) {
  double sum = 0;
  for (const Board& board : boards.boards) sum += std::pow((board.*which).error, 2);
  return boards.boards.empty() ? 0 : std::sqrt(sum / static_cast<double>(boards.boards.size()));
}

}  // namespace

void add_override(spec::Job& job, int64_t node, int64_t gpu, OverrideKind kind, double value,
                  const char* unit) {
  spec::Override one{.node = node, .gpu = gpu, .kind = kind, .value = value, .text = {}};
  const std::string place =
      gpu < 0 ? fmt::format("node{}", node) : fmt::format("node{}.gpu{}", node, gpu);
  one.text = fmt::format("{}.{}={:.4g}{}", place, spec::to_word(kind), value, unit);
  // As the text is read again, so that a job file written of it is the same job.
  if (const auto read = spec::parse_override(one.text)) one.value = read->value;
  job.conditions.overrides.push_back(std::move(one));
}

spec::Job without_told(spec::Job job, const std::vector<BoardReading>& gpus,
                       const std::vector<bool>& inlets) {
  const auto told = [&](OverrideKind kind, int64_t node, int64_t gpu) {
    if (kind == OverrideKind::kInlet) return inlets[static_cast<size_t>(node)] && gpu < 0;
    return std::ranges::any_of(gpus, [&](const BoardReading& it) {
      return it.node == node && it.gpu == gpu && is_told(kind, it);
    });
  };
  std::vector<spec::Override> kept;
  std::swap(kept, job.conditions.overrides);
  for (const spec::Override& one : kept) {
    const bool of_nodes = one.kind == OverrideKind::kInlet;
    std::vector<spec::Override> others;
    bool any = false;
    for (int64_t node = 0; node < job.nodes(); ++node)
      for (int64_t gpu = of_nodes ? -1 : 0; gpu < (of_nodes ? 0 : job.cluster.node.gpus); ++gpu) {
        if (!one.is_of(node, gpu)) continue;
        if (told(one.kind, node, gpu)) {
          any = true;
          continue;
        }
        others.push_back(one);
        others.back().node = node;
        others.back().gpu = gpu;
        const std::string place =
            of_nodes ? fmt::format("node{}", node) : fmt::format("node{}.gpu{}", node, gpu);
        others.back().text = place + one.text.substr(one.text.rfind('.', one.text.find('=')));
      }
    if (!any) others = {one};
    job.conditions.overrides.insert(job.conditions.overrides.end(), others.begin(), others.end());
  }
  return job;
}

spec::Job on_boards(spec::Job job, const Boards& boards) {
  job = without_told(std::move(job), base::mapped(boards.boards, &Board::read),
                     base::mapped(boards.inlets, &NodeInlet::told));
  for (size_t n = 0; n < boards.inlets.size(); ++n)
    if (const NodeInlet& it = boards.inlets[n]; it.inlet_c != it.predicted_c)
      add_override(job, static_cast<int64_t>(n), -1, OverrideKind::kInlet, it.inlet_c, "C");
  for (const Board& board : boards.boards) {
    const BoardReading& at = board.read;
    if (board.cap_w > 0)
      add_override(job, at.node, at.gpu, OverrideKind::kPowerCap, board.cap_w, "W");
    if (board.speed < 1) add_override(job, at.node, at.gpu, OverrideKind::kSpeed, board.speed);
    if (board.leakage.told)
      add_override(job, at.node, at.gpu, OverrideKind::kLeakage, board.leakage.value);
    if (board.resistance.told)
      add_override(job, at.node, at.gpu, OverrideKind::kResistance, board.resistance.value);
  }
  const auto know = [&](const char* name, double spread) {
    job.cluster.node.gpu.parameters.set(
        name, {spread, "", "the error of what a recording tells by board", base::Grade::kFitted});
  };
  // Errors of those that tell nothing are their kind's spread; so are those of others.
  const auto is_known = [&](BoardValue Board::* which) {
    return std::ssize(boards.boards) == job.gpus &&
           std::ranges::any_of(boards.boards, [&](const Board& it) { return (it.*which).told; });
  };
  if (is_known(&Board::leakage)) {
    know("spread.leakage", mean_error(boards, &Board::leakage));
    know("spread.voltage", 0);
  }
  if (is_known(&Board::resistance))
    know("spread.resistance", mean_error(boards, &Board::resistance));
  return job;
}

}  // namespace ergometer::calibration::twin
