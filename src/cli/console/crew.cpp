#include "cli/console/crew.h"

#include <algorithm>

namespace ergometer::cli {
namespace {

Result<int> run_as_rank(const spread::Launched& launched, const Console& console,
                        const CrewCommand& command) {
  if (!launched.can_talk)
    return input_error(
        "started as {} tasks that cannot find each other: each would do all of the work; use "
        "srun --mpi=pmix, or give every task its own --shard I/{}",
        launched.ranks, launched.ranks);
  if (!spread::built_with_mpi())
    return missing_error(
        "started as {} ranks, but this ergometer is built without MPI: each would do all of the "
        "work; start it once, or give every rank its own --shard I/{}",
        launched.ranks, launched.ranks);
  Console ours = console;
  ours.quiet = console.quiet || launched.rank > 0;
  ERGOMETER_ASSIGN(const std::unique_ptr<spread::Crew> crew,
                   spread::mpi_crew(launched, [&](const std::string& text) { ours.note(text); }));
  Result<int> result = command(*crew, ours);
  if (!result) crew->decline(result.error().message);
  if (crew->leads()) return result;
  return 0;  // the leader has said what there is to say
}

}  // namespace

Flag shard_flag() {
  return option("shard", "I/N", "running", "the I-th of N parts, which ergometer merge joins");
}

Result<spread::Shard> shard_of(const Arguments& arguments) {
  if (!arguments.has("shard")) return spread::Shard{};
  return spread::parse_shard(arguments.value("shard"));
}

bool is_spoken_for(const std::vector<std::string>& words) {
  const bool own_shard = std::ranges::any_of(
      words, [](const std::string& word) { return word.starts_with("--shard"); });
  return !own_shard && spread::launched().rank > 0;
}

Result<int> with_crew(const Arguments& arguments, const Console& console,
                      const CrewCommand& command) {
  const spread::Launched launched =
      console.hosted || arguments.has("shard") ? spread::Launched{} : spread::launched();
  if (launched.ranks == 1) return command(*spread::thread_crew(), console);
  Result<int> result = run_as_rank(launched, console, command);
  if (!result && launched.rank > 0) return static_cast<int>(result.error().kind);
  return result;
}

}  // namespace ergometer::cli
