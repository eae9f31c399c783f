#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/test_support.h"
#include "report/summary/example_run.h"
#include "report/summary/summary_json.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

using Json = nlohmann::json;

/// The number under a dotted name; a boolean counts as 0 or 1.
double at(const Json& document, std::string_view dotted) {
  std::string pointer = "/" + std::string(dotted);
  for (char& c : pointer) c = c == '.' ? '/' : c;
  const Json& found = document.at(Json::json_pointer(pointer));
  return found.is_boolean() ? (found.get<bool>() ? 1.0 : 0.0) : found.get<double>();
}

TEST(Summary, TheTextHoldsWhatAPersonAsksFirst) {
  EXPECT_EQ(summary_text(example_run(), {.colour = false, .unicode = false}),
            R"(tiny-8b (8.0 B parameters) on 4 x H100-SXM5-80GB, lab (2 nodes)
TP 2, PP 2, DP 1, SP, ZeRO 1, 1f1b
micro batch 1, global batch 16, sequence 4096, bf16, selective recomputation

Step time   1.00 s        Tokens/s  65,536 (16,384 per GPU)
Interval    875 ms to 1.12 s (90 %): no fp8 run on cdna3 was ever seen; no
            multi-node MI300X run was ever seen
MFU         40.5 %        TFLOP/s   400.2 per GPU (500.5 with recomputation)
Bubble      6.2 % of the step

Where the step goes (mean over ranks; communication: the exposed part)
  compute         #################.................      500 ms   50.0 %
  all-reduce      #########.........................      250 ms   25.0 %
  send/recv       #.................................     31.2 ms    3.1 %
  optimizer       #.................................     15.6 ms    1.6 %
  idle            #######...........................      203 ms   20.3 %

Memory
  WWWWWWGGGGGGGGGGGOOOOOOOOAAAAAAxx...........  60.0 of 80.0 GiB on stage 1
  W weights 10.0  G gradients 20.0  O optimizer 15.0  A activations 12.0
  x other 3.0
  fits with 20.0 GiB to spare, besides 0.0 GiB that the allocator keeps (> 99 %)

Links      job, per step                    mean            peak  of line rate
  nvlink         1.50 TB   per GPU    120.5 GB/s      380.2 GB/s        25.0 %
  nic             250 GB   per NIC      6.5 GB/s       11.5 GB/s        52.0 %

Limited by  GEMMs: half of the step
)");
}

TEST(Summary, NoLineIsWiderThanEightyColumns) {
  run::Run run = example_run();
  add_example_power(run);
  run.limiter =
      "the inter-node network: gradients of the data-parallel group wait for the one network card "
      "of a node";
  run.memory.fits = false;
  run.memory.advice =
      "does not fit: needs 160.0 of 80.0 GiB on stage 1; the largest part is activations; try --tp "
      "4";
  std::istringstream text(summary_text(run, {.colour = false, .unicode = false}));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(Summary, AJobThatDoesNotFitSaysSoFirst) {
  run::Run run = example_run();
  run.memory.fits = false;
  run.memory.peak_bytes = 2 * run.memory.capacity_bytes;
  run.memory.advice = "does not fit: needs 160.0 of 80.0 GiB on stage 1; try --tp 4";
  const std::string text = summary_text(run, {.colour = false, .unicode = false});
  EXPECT_NE(text.find("\nDoes not fit: needs 160.0 of 80.0 GiB on stage 1; try --tp 4\n"),
            std::string::npos);
  EXPECT_LT(text.find("Does not fit"), text.find("Step time"));
}

TEST(Summary, ColourIsAddedAroundTheSameText) {
  const std::string plain = summary_text(example_run(), {.colour = false, .unicode = true});
  std::string coloured = summary_text(example_run(), {.colour = true, .unicode = true});
  EXPECT_NE(plain, coloured);
  for (size_t at = 0; (at = coloured.find("\x1b[")) != std::string::npos;)
    coloured.erase(at, coloured.find('m', at) - at + 1);
  EXPECT_EQ(plain, coloured);
}

TEST(Summary, JsonAndRunFileCarryTheSameNumbersToTheLastBit) {
  run::Run run = example_run();
  double next = 1.0 / 3.0;
  add_example_power(run);
  for (const run::SummaryField& field : run::summary_fields()) field.set(run, next *= 1.7);
  run.memory.fits = false;

  const base::TestFolder temporary;
  ASSERT_TRUE(write_run(run, temporary.path("a.run")));
  const auto stored = run::read_run(temporary.path("a.run"));
  ASSERT_TRUE(stored);

  const Json document = Json::parse(summary_json(run, true));
  for (const run::SummaryField& field : run::summary_fields()) {
    EXPECT_EQ(at(document, field.name), field.get(run)) << field.name;
    EXPECT_EQ(field.get(*stored), field.get(run)) << field.name;
  }
  EXPECT_EQ(summary_json(*stored, true), summary_json(run, true));
  EXPECT_EQ(summary_text(*stored, {}), summary_text(run, {}));
}

TEST(Summary, SaysWhyTheIntervalIsWide) {
  const std::string text = summary_text(example_run(), {});
  EXPECT_NE(text.find("Interval    875 ms to 1.12 s (90 %): no fp8 run on cdna3 was ever seen;"),
            std::string::npos)
      << text;
  run::Run measured = example_run();
  measured.performance.step_time_s_low = measured.performance.step_time_s_high = 1;
  EXPECT_EQ(summary_text(measured, {}).find("Interval"), std::string::npos);
}

TEST(Summary, JsonHasTheContractsNames) {
  const Json document = Json::parse(summary_json(example_run(), true));
  EXPECT_EQ(document.at("schema_version"), 1);
  EXPECT_EQ(document.at("source"), "simulated");
  for (const char* name :
       {"step_time_s", "step_time_s_low", "step_time_s_high", "interval_reasons", "tokens_per_s",
        "tokens_per_s_per_gpu", "model_tflops_per_gpu", "hardware_tflops_per_gpu", "mfu", "hfu",
        "pipeline_bubble_fraction", "breakdown_s"})
    EXPECT_TRUE(document.at("performance").contains(name)) << name;
  for (const char* name :
       {"compute", "exposed_all_reduce", "exposed_all_gather", "exposed_reduce_scatter",
        "exposed_all_to_all", "exposed_send_recv", "optimizer", "idle"})
    EXPECT_TRUE(document.at("performance").at("breakdown_s").contains(name)) << name;
  for (const char* name :
       {"fits", "peak_bytes", "capacity_bytes", "weights_bytes", "gradients_bytes",
        "optimizer_bytes", "activations_bytes", "other_bytes"})
    EXPECT_TRUE(document.at("memory").contains(name)) << name;
  for (const char* name :
       {"kind", "bytes_per_step", "mean_gb_per_s", "peak_gb_per_s", "utilization"})
    EXPECT_TRUE(document.at("links").at(0).contains(name)) << name;
  EXPECT_TRUE(document.at("memory").at("fits").is_boolean());
  EXPECT_EQ(document.at("job").at("parallelism").at("tp"), 2);
  EXPECT_EQ(document.at("ranks").at(1).at("rank"), 3);
  EXPECT_FALSE(Json::parse(summary_json(example_run(), false)).contains("ranks"));
}

}  // namespace
}  // namespace ergometer::report
