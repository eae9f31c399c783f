// Which job, batch and testbed is fast or frugal; see study.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "study.h"

namespace ergometer::study {
namespace {

/// Peak power and tokens per second of a layout at micro batch 1 and at the largest that runs.
struct MicroBatches {
  std::string name;
  int64_t stages = 1;
  double peak_w[2] = {}, tokens_per_s[2] = {};

  std::string text() const {
    return fmt::format("{} {:.0f} to {:.0f} W ({:+.0f} %)", name, peak_w[0], peak_w[1],
                       100 * (tokens_per_s[1] / tokens_per_s[0] - 1));
  }
};

MicroBatches micro_batches(const std::string& layout) {
  const bool divides = layout != "mixtral-8x7b_1";  // DP 32: a batch of 128 has no 8 for each
  const Prediction one = row("microbatch-sweep-h200", layout, "mbs1");
  const Prediction most = row("microbatch-sweep-h200", layout, divides ? "mbs8" : "mbs4");
  MicroBatches result{.name = layout.substr(0, layout.find('_')) + " " + layout_name(one),
                      .stages = one.job.parallelism.pp};
  for (const auto& [i, p] : {std::pair{0, &one}, {1, &most}}) {
    result.peak_w[i] = p->power().peak_w_per_gpu;
    result.tokens_per_s[i] = p->time().tokens_per_s;
  }
  return result;
}

TEST(Study, LargerMicroBatchesDrawMoreAtPeak) {
  std::string shallow, deep;
  int shallow_rise = 0, shallow_fall = 0, deep_rise = 0, deep_fall = 0;
  for (const std::string& layout : layouts_of("h200")) {
    const MicroBatches found = micro_batches(layout);
    const bool rises = found.peak_w[1] > found.peak_w[0];
    std::string& list = found.stages >= 8 ? deep : shallow;
    list += (list.empty() ? "" : ", ") + found.text();
    if (found.stages >= 8)
      ++(rises ? deep_rise : deep_fall);
    else
      ++(rises ? shallow_rise : shallow_fall);
  }
  const std::string seen = "peak power rises whatever throughput does";
  expect_agreement({"Micro batch 1 to 8 (throughput's change), up to 4 stages, H200", seen, shallow,
                    "longer kernels fill more of the 25 ms that count as a peak"},
                   shallow_rise >= 7 * shallow_fall);
  expect_disagreement(
      {"The same, 8 to 32 stages", seen + "; TP2-PP16 gets no faster", deep,
       "throughput as seen; peaks are weight gradients, which add to FP32 sums in HBM: 0.18 "
       "pJ/FLOP at 2048 tokens a micro batch, 0.02 at 16384; with HBM at a tenth of its energy "
       "peaks still fall, by 1 to 5 % with 16 and 32 stages: products of 2048 tokens fill the GPU "
       "already"},
      deep_fall > deep_rise);
}

TEST(Study, FsdpGainsFromMicroBatches) {
  const auto step_s = [](int micro_batch) {
    return row("microbatch-sweep-h200-fsdp", "gpt3-175b_5", fmt::format("mbs{}", micro_batch))
        .time()
        .step_time_s;
  };
  const double factor = step_s(1) / step_s(4);
  expect_agreement({"GPT3-175B TP8-FSDP: micro batch 1 to 4", "more than 3 times faster",
                    fmt::format("{:.1f} times", factor),
                    "gathers through one port for eight GPUs are all there is"},
                   factor > 3);
}

TEST(Study, Mi250LargerMicroBatchesHelp) {
  const std::vector<std::pair<Values, std::string>> models = {{kGpt30b, "GPT3-30B"},
                                                              {kLlama30b, "Llama3-30B"}};
  const std::vector<std::pair<std::string, std::string>> layouts = {
      {"8", "4"}, {"8", "2"}, {"4", "4"}, {"4", "2"}, {"2", "4"}};
  std::string helped, hurt, full;
  int helps = 0, hurts = 0;
  for (const auto& [model, name] : models)
    for (const auto& [tp, pp] : layouts) {
      const Values layout = with(model, {{"tp", tp}, {"pp", pp}});
      const Prediction one = job(layout, {{"mbs", "1"}}), two = job(layout, {{"mbs", "2"}});
      const std::string label = fmt::format("{} {}", name, layout_name(one));
      const double gain = 100 * (two.time().tokens_per_s / one.time().tokens_per_s - 1);
      const auto add = [&](std::string& list) {
        list += fmt::format("{}{} {:+.1f} %", list.empty() ? "" : ", ", label, gain);
      };
      if (!two.run.memory.fits) {
        add(full);
      } else if (gain > 0) {
        add(helped);
        ++helps;
      } else {
        add(hurt);
        ++hurts;
      }
    }
  expect_in_part(
      {"MI250: larger micro batches (1 to 2 samples) help; memory ends it first", "generally",
       fmt::format("help: {}; hurt: {}; do not fit: {}", helped, hurt,
                   full.empty() ? "none" : full),
       "wide layouts gain; with much data parallelism a batch of 128 leaves few micro batches, and "
       "the bubble grows; the study's MI250 layouts are not public"},
      helps > 0 && hurts > 0);
}

TEST(Study, Gpt3OnH200AndH100) {
  const Prediction h200 = sweep_row("h200", "gpt3-175b_1", "01000");
  const Prediction h200_base = sweep_row("h200", "gpt3-175b_1", "00000");
  const Prediction h100 = sweep_row("h100", "gpt3-175b_1", "01000");
  expect_agreement({"GPT3-175B TP2: 32 H200 against 64 H100, tokens per joule", "H200 better",
                    fmt::format("{:.3f} (without recomputation {:.3f}) against {:.3f}",
                                h200.power().tokens_per_j, h200_base.power().tokens_per_j,
                                h100.power().tokens_per_j),
                    "half the stages, half the bubble; H100 fits with recomputation only"},
                   h200.power().tokens_per_j > h100.power().tokens_per_j);
  const double ratio = h200_base.time().tokens_per_s / h100.time().tokens_per_s;
  expect_disagreement(
      {"The same in tokens per second", "H200 ahead, or comparable (the two accounts differ)",
       fmt::format("{:.2f} of the H100s' at best ({:.0f} against {:.0f} tokens/s)", ratio,
                   h200_base.time().tokens_per_s, h100.time().tokens_per_s),
       "a GPU of the H200s must then be 2 times as fast as an H100: bubble and recomputation give "
       "1.5; no cause in clocks or heat that differs between the testbeds"},
      ratio < 0.95 && ratio > 0.5);
}

/// The layout of a testbed with most tokens per second, of those that fit.
Prediction fastest(const std::string& gpu, const std::string& model) {
  Prediction best;
  for (const std::string& layout : layouts_of(gpu))
    if (layout.starts_with(model + "_"))
      for (const char* variant : {"00000", "01000"}) {
        Prediction p = sweep_row(gpu, layout, variant);
        if (p.run.memory.fits && p.time().tokens_per_s > best.time().tokens_per_s)
          best = std::move(p);
      }
  return best;
}

TEST(Study, OtherModelsOnH200AndH100) {
  const Prediction moe = sweep_row("h200", "mixtral-8x22b_1", "01000");
  const Prediction moe_h100 = fastest("h100", "mixtral-8x22b");
  expect_agreement(
      {"Mixtral-8x22B EP8-TP1-PP4: H200 more efficient", "H200 better",
       fmt::format("{:.2f} tokens/J against {:.2f} at best ({}) on H100", moe.power().tokens_per_j,
                   moe_h100.power().tokens_per_j, layout_name(moe_h100)),
       ""},
      moe.power().tokens_per_j > moe_h100.power().tokens_per_j);
  for (const auto& [model, name] :
       {std::pair{"llama3-70b", "Llama3-70B"}, {"mixtral-8x7b", "Mixtral-8x7B"}}) {
    const Prediction h200 = fastest("h200", model), h100 = fastest("h100", model);
    const double factor = h100.time().tokens_per_s / h200.time().tokens_per_s;
    expect_agreement(
        {fmt::format("{}: 64 H100 clearly faster than 32 H200", name), "clearly faster",
         fmt::format("{:.2f} times ({} against {})", factor, layout_name(h100), layout_name(h200)),
         ""},
        factor > 1.3);
  }
}

TEST(Study, WhatCommunicates) {
  const auto share = [](const Prediction& p) {
    const run::Breakdown& b = p.time().breakdown_s;
    const double waits = b.exposed_all_reduce + b.exposed_all_gather + b.exposed_reduce_scatter +
                         b.exposed_all_to_all + b.exposed_send_recv;
    return 100 * waits / (waits + b.compute + b.optimizer);
  };
  const double moe = share(sweep_row("h200", "mixtral-8x22b_3", "00000"));
  const double dense = share(sweep_row("h200", "llama3-70b_2", "00000"));
  expect_agreement(
      {"H200: share of communication in kernel time: Mixtral-8x22B EP8-TP4-PP1; "
       "Llama3-70B",
       "above 50 %; below 50 %", fmt::format("{:.0f} %; {:.0f} % (TP4-PP4)", moe, dense), ""},
      moe > 50 && dense < 50);
}

TEST(Study, LoraIsCooler) {
  std::string higher;
  std::vector<double> watts, hottest;
  size_t lower = 0;
  for (const std::string& layout : layouts_of("h200")) {
    const Prediction full = sweep_row("h200", layout, "01000"), lora = row("lora", layout, "mbs1");
    const double by_w = lora.power().mean_w_per_gpu - full.power().mean_w_per_gpu;
    const double by_c = lora.heat().max_gpu_c - full.heat().max_gpu_c;
    if (by_w < 0 && by_c < 0) {
      ++lower;
      watts.push_back(by_w);
      hottest.push_back(by_c);
    } else {
      higher += fmt::format("{}{} {} {:+.0f} W", higher.empty() ? "; higher: " : ", ",
                            layout.substr(0, layout.find('_')), layout_name(lora), by_w);
    }
  }
  expect_in_part(
      {"LoRA: lower power and temperature, H200", "lower",
       fmt::format("{} of {} layouts lower, mean {:.0f} W a GPU and {:.1f} C (hottest){}", lower,
                   layouts_of("h200").size(), mean(watts), mean(hottest), higher),
       "higher where full training waits for its gradients on the network and LoRA does not"},
      2 * lower > layouts_of("h200").size());
}

TEST(Study, LoraIsMoreEfficient) {
  std::vector<double> per_token, per_sample, samples_per_s;
  for (const std::string& layout : layouts_of("h200")) {
    const Prediction full = sweep_row("h200", layout, "01000"), lora = row("lora", layout, "mbs1");
    const double shorter = static_cast<double>(full.job.training.seq_length) /
                           static_cast<double>(lora.job.training.seq_length);
    per_token.push_back(lora.power().tokens_per_j / full.power().tokens_per_j);
    per_sample.push_back(shorter * per_token.back());
    samples_per_s.push_back(shorter * lora.time().tokens_per_s / full.time().tokens_per_s);
  }
  const auto range = [](const std::vector<double>& values) {
    return fmt::format("{:.1f} to {:.1f} times", *std::min_element(values.begin(), values.end()),
                       *std::max_element(values.begin(), values.end()));
  };
  expect_in_part(
      {"LoRA: training efficiency, H200", "over 10 times (of what is not known)",
       fmt::format("tokens/J {}, samples/J {}, samples/s {}, 13 layouts", range(per_token),
                   range(per_sample), range(samples_per_s)),
       "4 of 8 FLOPs a parameter are left: 2 times where compute is all; more than ten only by "
       "samples, which are a quarter to all as long, and where full training waits for the "
       "network"},
      *std::min_element(per_token.begin(), per_token.end()) > 1.2 &&
          *std::max_element(samples_per_s.begin(), samples_per_s.end()) > 10);
}

}  // namespace
}  // namespace ergometer::study
