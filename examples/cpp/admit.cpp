// What a scheduler asks before it starts a job: does it fit in memory, and in the power that is left?
//
//   admit KILOWATTS FILE...     the files that say the job: job.yaml, config.json, a launch script
//
// Ends with 0: start it; 1: do not; 2 and more: the job is no job.
#include <ergometer/ergometer.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const ergometer::Files files(argv + 2, argv + argc);
  try {
    const ergometer::Document job = ergometer::simulate(files);
    const double kw = job.number("power.cluster_peak_w") / 1000;
    std::printf("%.1f s a step, %.0f kW at most, GPUs up to %.0f C\n", job.number("performance.step_time_s"), kw,
                job.number("thermal.max_gpu_c"));
    if (job.answer_is_no()) {
      std::printf("refused: it needs %.0f GB of a GPU's memory\n", job.number("memory.peak_bytes") / 1e9);
      return 1;
    }
    const double left = std::atof(argv[1]);
    if (kw <= left) return 0;
    std::printf("refused: %.0f kW are left\n", left);
    const double cap = job.number("power.mean_w_per_gpu") * left / kw;
    const ergometer::Document capped = ergometer::simulate(files, {{"power_cap", cap}});
    std::printf("at %.0f W a GPU: %.1f s a step, %.0f kW at most\n", cap, capped.number("performance.step_time_s"),
                capped.number("power.cluster_peak_w") / 1000);
    return 1;
  } catch (const ergometer::Error& error) {
    std::printf("%s\n", error.what());
    return error.status();
  }
}
