#include "spread/launcher.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace ergometer::spread {
namespace {

Launched in(const std::map<std::string, std::string>& environment) {
  return launched([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

void expect(const Launched& is, size_t rank, size_t ranks, bool can_talk) {
  EXPECT_EQ(is.rank, rank);
  EXPECT_EQ(is.ranks, ranks);
  EXPECT_EQ(is.can_talk, can_talk);
}

TEST(Launcher, NothingOrNonsenseIsOneProcess) {
  expect(in({}), 0, 1, true);
  expect(in({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), 0, 1, true);
  expect(in({{"SLURM_PROCID", "4"}, {"SLURM_STEP_NUM_TASKS", "4"}}), 0, 1, true);
}

/// The shell of an sbatch script has a number of tasks and no step.
TEST(Launcher, ABatchScriptIsOneProcess) {
  expect(in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), 0, 1, true);
}

TEST(Launcher, AStepOfOneTaskIsOneProcess) {
  expect(in({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}), 0, 1, true);
}

TEST(Launcher, AStepNeedsPmixToTalk) {
  expect(in({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}), 1, 4, false);
  expect(in({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "1"}}), 1, 4,
         true);
}

/// mpirun inside sbatch starts one daemon a node as a step, and its ranks see that step.
TEST(Launcher, MpirunCountsAlone) {
  expect(in({{"OMPI_COMM_WORLD_RANK", "3"},
             {"OMPI_COMM_WORLD_SIZE", "4"},
             {"SLURM_PROCID", "1"},
             {"SLURM_STEP_NUM_TASKS", "2"}}),
         3, 4, true);
  expect(in({{"OMPI_COMM_WORLD_RANK", "0"},
             {"OMPI_COMM_WORLD_SIZE", "1"},
             {"SLURM_PROCID", "1"},
             {"SLURM_STEP_NUM_TASKS", "2"}}),
         0, 1, true);
}

}  // namespace
}  // namespace ergometer::spread
