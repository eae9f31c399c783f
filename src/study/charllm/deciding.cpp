// For each finding that boards, rooms or the study's unknown settings leave open: the one
// measurement that would tell the models from what was reported.
#include <array>

#include "study/charllm/as_measured.h"

namespace ergometer::study::charllm {
namespace {

struct Deciding {
  std::string_view id, measurement;
};

constexpr std::array kDeciding = std::to_array<Deciding>({
    {"sign.deep-pipelines", "the SM clock of one stage through a step, at 20 Hz, beside its power"},
    {"sign.throttling-by-depth",
     "the SM clock within a bubble of TP1-PP32, at 20 Hz: the models leave it at the top"},
    {"size.hot-clocks", "the slowest GPU's mean SM clock of TP2-PP16, and its event reasons"},
    {"sign.overlap-clocks", "mean SM clock of one layout with and without overlap, three times"},
    {"sign.overlap-heat",
     "the hottest GPU of TP1-PP32 with and without overlap, three times at one inlet: the models "
     "have them within half a kelvin"},
    {"sign.recompute-gpt3", "mean SM clock of a forward and of a backward pass of one stage"},
    {"sign.recompute-llama3", "mean SM clock of a forward and of a backward pass of one stage"},
    {"size.rear-hotter-h200", "the inlet temperature of the racks"},
    {"size.rear-hotter-h100", "the inlet temperature of the racks"},
    {"sign.split-llama3",
     "mean SM clocks of front and rear GPUs in the even job: a gain of 4 % needs rear GPUs some 10 "
     "% slower than front ones"},
    {"sign.split-gpt3", "mean SM clocks of front and rear GPUs in the even job"},
    {"sign.split-gap-gpt3", "three repeats of the even job: how far its row gap moves by itself"},
    {"sign.split-gap-llama3", "three repeats of the even job: how far its row gap moves by itself"},
    {"size.split-gpt3", "three repeats of both jobs"},
    {"size.split-llama3", "three repeats of both jobs"},
    {"size.cold-first", "three repeats of both placements"},
    {"sign.gpt3-energy", "step time and energy of both jobs"},
    {"sign.gpt3-speed", "step time of both jobs; it needs no sensor"},
    {"size.energy-multiple", "step time of both jobs, and which layouts were compared"},
    {"size.effective-port", "the counters of one port through a step"},
    {"sign.micro-batch-peak",
     "board power of a stage of TP2-PP16 at 1 kHz through a backward pass, micro batch 1 and 8"},
    {"sign.micro-batch-heat",
     "the hottest GPU in the eleventh step and after half an hour, micro batch 1 and 8"},
    {"sign.mi250-micro-batch", "which layouts were run"},
    {"sign.mi250-memory", "which layouts were run"},
    {"sign.mi250-clock", "the SM clock of a die that waits in a collective, and of an idle one"},
    {"size.mi250-dies", "the inlet temperature, and which die of a module is downstream"},
    {"sign.recompute-fits", "reserved bytes of Mixtral-8x22B EP8-TP1-PP4 on H200 after a step"},
    {"sign.overlap-gain", "a trace of the first forward pass of all stages with param overlap"},
    {"sign.lora-power",
     "mean power of Mixtral-8x7B in full training: whether it waits for the port"},
    {"size.lora-efficiency", "batch and sequence length of the runs compared, with their times"},
    {"size.clock-lock", "energy and time of one job at four clocks, stage by stage"},
});

}  // namespace

std::string_view deciding_measurement(std::string_view id) {
  for (const Deciding& it : kDeciding)
    if (it.id == id) return it.measurement;
  return {};
}

}  // namespace ergometer::study::charllm
