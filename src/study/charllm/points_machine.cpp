// Jobs on machines that the matrix lacks: MI250, one board, MI300X, a large cluster, 8,192 GPUs.
#include <fmt/format.h>

#include "study/charllm/counterfactual.h"
#include "study/charllm/points.h"

namespace ergometer::study::charllm {
namespace {

/// The study's models on its MI250 testbed, whose layouts and settings are not public.
void mi250_jobs(Jobs& jobs) {
  const Values gpt = {{"model", "gpt3-30b"},
                      {"cluster", "charllm-mi250"},
                      {"gpus", "32"},
                      {"gbs", "128"},
                      {"seq", "2048"}};
  const Values llama = {{"model", "llama3-30b"}, {"cluster", "charllm-mi250"},
                        {"gpus", "32"},          {"gbs", "128"},
                        {"seq", "8192"},         {"recompute", "full"}};
  for (const auto& [name, model] : {std::pair{"gpt3-30b", gpt}, {"llama3-30b", llama}})
    for (const auto& [tp, pp] : mi250_layouts())
      for (const char* mbs : {"1", "2", "4", "8"})
        jobs.fresh("mi250-layouts", fmt::format("{}_tp{}-pp{}_mbs{}", name, tp, pp, mbs),
                   with(model, {{"tp", tp}, {"pp", pp}, {"mbs", mbs}}));
}

void neighbours(Jobs& jobs) {
  const Values fsdp = {{"model", "llama3-8b"}, {"gbs", "32"}, {"fsdp", "true"}};
  const Values sixteen =
      with(fsdp, {{"cluster", "hgx-h100"}, {"gpus", "16"}, {"seq", "8192"}, {"mbs", "1"}});
  jobs.fresh("neighbours", "fsdp-16", sixteen);
  jobs.fresh("neighbours", "fsdp-16-brake",
             with(sixteen, {{"override", "node0.gpu3.power_brake=on"}}));
  const Values board = with(fsdp, {{"cluster", "hgx-h100"},
                                   {"gpus", "8"},
                                   {"seq", "8192"},
                                   {"mbs", "1"},
                                   {"recompute", "full"}});
  jobs.fresh("neighbours", "board-air", board);
  jobs.fresh("neighbours", "board-liquid", with(board, {{"cooling", "liquid"}}));
  for (int seed = 1; seed <= kMi300xBoards; ++seed)
    jobs.fresh("neighbours", fmt::format("mi300x-{}", seed),
               with(fsdp, {{"cluster", "mi300x"},
                           {"gpus", "8"},
                           {"seq", "4096"},
                           {"mbs", "2"},
                           {"seed", fmt::format("{}", seed)}}));
  const Values large = {{"model", "llama3.1-405b"},
                        {"cluster", "h100-superpod"},
                        {"gpus", "448"},
                        {"tp", "8"},
                        {"pp", "14"},
                        {"vpp", "9"},
                        {"gbs", "56"},
                        {"mbs", "1"},
                        {"seq", "8192"},
                        {"overlap_grad_reduce", "true"},
                        {"overlap_param_gather", "true"},
                        {"tp_comm_overlap", "true"},
                        {"overlap_p2p", "true"}};
  for (const char* seed : {"1", "2", "3"})
    for (const char* inlet : {"20", "30"})
      jobs.fresh("neighbours", fmt::format("llama-405b-{}-{}C", seed, inlet),
                 with(large, {{"inlet_c", inlet}, {"seed", seed}}));
}

/// Weak scaling of two of the study's jobs: four sequences a GPU, more replicas.
void projections(Jobs& jobs) {
  for (const char* gbps : {"100", "800"})
    for (const int gpus : kProjectionGpus) {
      Change change;
      change.nodes = gpus / 8;
      change.nic_bandwidth = fmt::format("{} Gb/s", gbps);
      const std::string cluster =
          changed_cluster("charllm-h200", fmt::format("charllm-h200-{}-gpus", gpus), change);
      const Values scale = {{"cluster", cluster},
                            {"gpus", fmt::format("{}", gpus)},
                            {"gbs", fmt::format("{}", 4 * gpus)}};
      const std::string id = fmt::format("{}-{}", gpus, gbps);
      jobs.varied("projection", "gpt3-" + id, "optimization-sweep-h200", "gpt3-175b_3_01000",
                  scale);
      jobs.varied("projection", "llama3-" + id, "optimization-sweep-h200", "llama3-70b_2_01000",
                  scale);
    }
}

}  // namespace

void other_machine_jobs(Jobs& jobs) {
  mi250_jobs(jobs);
  neighbours(jobs);
  projections(jobs);
}

}  // namespace ergometer::study::charllm
