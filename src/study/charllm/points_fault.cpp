// Faults, uneven stages, cooling, clock locks and boards that differ: the study's own rows, varied.
#include <fmt/format.h>

#include "study/charllm/evidence.h"
#include "study/charllm/points.h"

namespace ergometer::study::charllm {
namespace {

const std::string kH200 = "optimization-sweep-h200";
/// Recomputation of every layer, however many a stage has: the study's "block" names a number.
const Values kRecomputeAll = {{"recompute_method", "uniform"}, {"recompute_num_layers", "1"}};

/// "gpu4.speed=94%,gpu5.speed=94%": the hot half of each node, or the nodes of the odd stages.
std::string slow(const std::vector<std::string>& which, int percent) {
  std::string text;
  for (const std::string& it : which)
    text += fmt::format("{}{}.speed={}%", text.empty() ? "" : ",", it, percent);
  return text;
}

/// The front GPUs of all nodes in the first stages, the rear ones in the last.
constexpr const char* kColdFirst = "0-3,8-11,16-19,24-27,4-7,12-15,20-23,28-31";

/// Even and uneven stages of a row. `placed`: which GPUs the ranks have so that every other stage
/// is on front GPUs; empty: those that they have anyway.
void uneven_stages(Jobs& jobs, const std::string& name, const std::string& row,
                   const std::string& even, const std::string& uneven, const std::string& placed,
                   const std::vector<std::string>& hot) {
  jobs.varied("stages", name + "-even-cold-first", kH200, row + "_01000",
              with(kRecomputeAll, {{"stage_layers", even}, {"rank_map", kColdFirst}}));
  for (const auto& [id, layers] : {std::pair{"-even-placed", even}, {"-uneven-placed", uneven}})
    if (!placed.empty())
      jobs.varied("stages", name + id, kH200, row + "_01000",
                  with(kRecomputeAll, {{"stage_layers", layers}, {"rank_map", placed}}));
  for (const auto& [id, layers] : {std::pair{"even", even}, {"uneven", uneven}}) {
    const std::string point = name + "-" + id;
    const Values recomputed = with(kRecomputeAll, {{"stage_layers", layers}});
    jobs.varied("stages", point, kH200, row + "_01000", recomputed);
    jobs.varied("stages", point + "-stored", kH200, row + "_00000", {{"stage_layers", layers}});
    for (const int percent : kSpeeds) {
      if (percent == 100) continue;
      jobs.varied("slow-hot", fmt::format("{}-{}", point, percent), kH200, row + "_01000",
                  with(recomputed, {{"override", slow(hot, percent)}}));
    }
  }
}

}  // namespace

void fault_jobs(Jobs& jobs) {
  jobs.varied("faults", "llama3-70b_2-node-brake", kH200, "llama3-70b_2_01000",
              {{"override", "node1.power_brake=on"}});
  jobs.varied("faults", "llama3-70b_2-gpu-brake", kH200, "llama3-70b_2_01000",
              {{"override", "node1.gpu3.power_brake=on"}});
  jobs.varied("faults", "llama3-70b_2-fan", kH200, "llama3-70b_2_01000",
              {{"override", "node1.fan=40%"}});
  jobs.varied("faults", "llama3-70b_2-nic", kH200, "llama3-70b_2_01000",
              {{"override", "node1.nic=25%"}});
  // A stage of GPT-3 is four GPUs: the odd ones are rear rows as ranks come. A stage of Llama-3 is
  // a node: its two replicas have to be the front or the rear rows of two nodes.
  uneven_stages(jobs, "gpt3", "gpt3-175b_2", "12,12,12,12,12,12,12,12", "13,11,13,11,13,11,13,11",
                "", {"gpu4", "gpu5", "gpu6", "gpu7"});
  uneven_stages(jobs, "llama3", "llama3-70b_2", "20,20,20,20", "21,19,21,19",
                "0-3,16-19,4-7,20-23,8-11,24-27,12-15,28-31", {"node1", "node3"});
  jobs.varied("stages", "llama3-head", kH200, "llama3-70b_2_01000",
              with(kRecomputeAll, {{"stage_layers", "21,20,20,19"}}));
  for (const char* row : {"gpt3-175b_1", "llama3-70b_2"})
    jobs.varied("liquid", row, kH200, std::string(row) + "_01000", {{"cooling", "liquid"}});
  jobs.varied("boards", "gpt3-175b_1-base", kH200, "gpt3-175b_1_00000", {{"seed", "1"}});
  for (const std::string& row : layouts_of("h200"))
    jobs.varied("boards", row, kH200, row + "_01000", {{"seed", "1"}});
  for (const char* mhz : {"1900", "1800", "1700", "1600", "1500"})
    jobs.varied("locks", fmt::format("gpt3-175b_1-{}", mhz), kH200, "gpt3-175b_1_01000",
                {{"seed", "1"}, {"lock_clock", mhz}});
}

}  // namespace ergometer::study::charllm
