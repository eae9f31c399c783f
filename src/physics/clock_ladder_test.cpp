// A100's voltage curve against the stage table of Perseus: time and energy of pipeline stages with
// the clock locked to 38 values. The catalog's parameters stand; an instruction has its own base
// time, clocked share and activity, fitted here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/csv.h"
#include "base/file.h"
#include "physics/governor.h"
#include "spec/catalog/read.h"

namespace ergometer::physics {
namespace {

/// The board's own limit is not stated: at the highest locks time stands still, as if held here.
constexpr double kBoardCapW = 480;
/// Of an instruction's energy beyond waiting, the part that memory and its interface spend.
constexpr double kMemoryShare = 0.2;

struct Rung {
  double clock_hz, time_s, energy_j;
};
using Ladder = std::vector<Rung>;  // one instruction of one stage

std::map<std::string, Ladder> ladders() {
  const std::string path = ERGOMETER_SOURCE_DIR "/tests/data/perseus/gpt3-175b-a100.csv";
  const auto text = base::read_file(path, 1 << 20);
  const auto table = base::parse_csv(*text, path);
  std::map<std::string, Ladder> found;
  for (size_t row = 0; row < table->rows.size(); ++row) {
    const auto number = [&](const char* column) {
      return std::strtod(std::string(table->cell(row, column)).c_str(), nullptr);
    };
    found[fmt::format("{} {}", table->cell(row, "stage"), table->cell(row, "instruction"))]
        .push_back({number("frequency") * 1e6, number("time"), number("energy")});
  }
  return found;
}

struct Instruction {
  double base_s = 0, clocked_share = 0, activity_w = 0;
};

Rung predict(const GpuPower& gpu, const Instruction& instruction, double lock_hz) {
  const double top_hz = gpu.clocks.highest_hz;
  const Load load{(1 - kMemoryShare) * instruction.activity_w,
                  kMemoryShare * instruction.activity_w, 0, true};
  const Response response{instruction.clocked_share, top_hz};
  const double clock =
      decide_clock(gpu, {}, {kBoardCapW, lock_hz}, gpu.leakage_c, load, response, 0).clock_hz;
  const Load at = load_at(load, response, clock);
  const double time_s = instruction.base_s * load.core_w / at.core_w;
  return {lock_hz, time_s, time_s * gpu.power_w(clock, gpu.leakage_c, at, {})};
}

struct Errors {
  double time = 0, energy = 0, worst_time = 0, worst_energy = 0;  // relative
};

Errors errors(const GpuPower& gpu, const Instruction& instruction, const Ladder& ladder) {
  Errors sum;
  for (const Rung& rung : ladder) {
    const Rung is = predict(gpu, instruction, rung.clock_hz);
    const double time = std::abs(is.time_s / rung.time_s - 1);
    const double energy = std::abs(is.energy_j / rung.energy_j - 1);
    sum.time += time / static_cast<double>(ladder.size());
    sum.energy += energy / static_cast<double>(ladder.size());
    sum.worst_time = std::max(sum.worst_time, time);
    sum.worst_energy = std::max(sum.worst_energy, energy);
  }
  return sum;
}

/// By scanning: shares of the clock in steps of a hundredth, activity in steps of 2 W; the base
/// time follows from the mean of the ratios.
Instruction fit(const GpuPower& gpu, const Ladder& ladder) {
  Instruction best;
  double best_score = 1e300;
  for (double share = 0.7; share <= 1.0001; share += 0.01) {
    for (double activity = 300; activity <= 480; activity += 2) {
      Instruction tried{1, share, activity};
      double ratio = 0;
      for (const Rung& rung : ladder)
        ratio += rung.time_s / predict(gpu, tried, rung.clock_hz).time_s;
      tried.base_s = ratio / static_cast<double>(ladder.size());
      const Errors e = errors(gpu, tried, ladder);
      const double score = e.time / 0.03 + e.energy / 0.05;
      if (score < best_score) {
        best_score = score;
        best = tried;
      }
    }
  }
  return best;
}

TEST(ClockLadder, TimeAndEnergyOfPerseusStages) {
  const GpuPower gpu = *gpu_power(spec::read_cluster("dgx-a100")->node.gpu);
  for (const auto& [name, ladder] : ladders()) {
    if (name[0] != '0' && name[0] != '7') continue;  // stages 1 to 6 repeat stage 0
    ASSERT_EQ(ladder.size(), 38u);
    const Instruction instruction = fit(gpu, ladder);
    const Errors e = errors(gpu, instruction, ladder);
    fmt::print(
        "stage {:10} clocked share {:.2f}, activity {:.0f} W; time off by {:.2f} % (at most {:.2f} "
        "%), energy by {:.2f} % (at most {:.2f} %)\n",
        name, instruction.clocked_share, instruction.activity_w, 100 * e.time, 100 * e.worst_time,
        100 * e.energy, 100 * e.worst_energy);
    EXPECT_LT(e.time, 0.01);
    EXPECT_LT(e.energy, 0.02);
    EXPECT_LT(e.worst_time, 0.03);
    EXPECT_LT(e.worst_energy, 0.05);
  }
}

}  // namespace
}  // namespace ergometer::physics
