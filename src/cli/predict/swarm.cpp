#include "cli/predict/swarm.h"

#include <algorithm>

#include "base/collection.h"
#include "base/file.h"
#include "cli/console/option_values.h"
#include "cli/job/job_settings.h"
#include "report/decision/swarm_output.h"
#include "spec/catalog/read.h"
#include "spec/job/measure_range.h"
#include "swarm/swarm.h"

namespace ergometer::cli {
namespace {

constexpr int64_t kMostSteps = 100'000, kMostInFlight = 10'000, kMostSeed = 1'000'000'000;
constexpr double kLongestRebalance = 1e9;

Result<swarm::PlayOptions> swarm_options(const Arguments& arguments) {
  swarm::PlayOptions options;
  ERGOMETER_ASSIGN(options.steps, whole_number(arguments, "steps", options.steps, 1, kMostSteps));
  ERGOMETER_ASSIGN(const int64_t seed, whole_number(arguments, "seed", 1, 0, kMostSeed));
  options.seed = static_cast<uint64_t>(seed);
  ERGOMETER_ASSIGN(options.in_flight, whole_number(arguments, "in-flight", 1, 1, kMostInFlight));
  if (!arguments.has("rebalance")) return options;
  const auto seconds =
      spec::MeasureRange{"s", 0, kLongestRebalance}.read(arguments.value("rebalance"));
  if (!seconds) return input_error("--rebalance: {}", seconds.error().message);
  options.rebalance_s = *seconds;
  return options;
}

/// Of one machine and its moment, which peers do not share, or of what they are not predicted for.
bool is_of_no_swarm(const Flag& flag) {
  constexpr std::string_view kGroups[] = {"conditions", "vision", "experts", "task"};
  return base::contains(kGroups, flag.group) || flag.name == "cluster" || flag.name == "gpus";
}

}  // namespace

std::vector<Flag> swarm_flags() {
  std::vector<Flag> flags = setting_flags();
  std::erase_if(flags, is_of_no_swarm);
  const auto add = [&](const char* name, const char* value, const char* help) {
    flags.push_back(option(name, value, "swarm", help));
  };
  add("peers", "FILE.yaml",
      "who takes part: `peers`, a list of {name, node, count, uplink, downlink, latency, loss, "
      "connections, stays, away, price}");
  add("steps", "N", "how many steps to play; 20");
  add("seed", "N", "of when peers leave and come; 1");
  add("rebalance", "TIME", "between moves of a peer to the slowest stage; 5 min, 0: none");
  add("in-flight", "N", "micro batches under way for each peer; 1, as many as in 1F1B");
  return flags;
}

Result<int> run_swarm(const Arguments& arguments, const Console& console) {
  const char* missing = !names_job(arguments)     ? "JOB"
                        : !arguments.has("peers") ? "--peers"
                                                  : nullptr;
  if (missing != nullptr)
    return input_error(
        "swarm: {} is missing; usage: ergometer swarm MODEL|FILE... --peers FILE.yaml", missing);
  ERGOMETER_ASSIGN(const swarm::PlayOptions options, swarm_options(arguments));
  const std::string path = arguments.value("peers");
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, spec::kLargestWritten));
  ERGOMETER_ASSIGN(const std::vector<swarm::PeerKind> kinds, swarm::parse_peers(text, path));
  ERGOMETER_ASSIGN(const spec::Settings settings, gather_settings(arguments, console));
  ERGOMETER_ASSIGN(const swarm::Swarm of, swarm::play_swarm(settings, kinds, options));
  console.answer(arguments.has("json") ? report::swarm_json(of) : report::swarm_text(of));
  const bool fits = std::ranges::all_of(of.kinds, &swarm::KindPlayed::fits);
  return fits ? 0 : static_cast<int>(base::ErrorKind::kNo);
}

}  // namespace ergometer::cli
