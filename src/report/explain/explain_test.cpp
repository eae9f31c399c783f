#include "report/explain/explain.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/simulate.h"
#include "report/explain/assumptions.h"
#include "report/summary/job_json.h"
#include "run/summary_fields.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::report {
namespace {

spec::Job small_job() {
  return spec::test::job_of({{"model", "gpt3-1.3b"},
                             {"cluster", "charllm-h100"},
                             {"gpus", "16"},
                             {"tensor_model_parallel_size", "2"},
                             {"pipeline_model_parallel_size", "2"},
                             {"micro_batch_size", "1"},
                             {"global_batch_size", "16"},
                             {"seq_length", "2048"}});
}

class Explain : public testing::Test {
 protected:
  double number(const Explanation& node, std::string_view input) const {
    for (const Explanation& child : node.inputs) {
      if (child.name == input)
        return child.number.has_value() ? *child.number : std::stod(child.text);
    }
    ADD_FAILURE() << node.name << " has no input " << input;
    return 0;
  }
  Explanation explained(const std::string& name) const { return explain(run_, job_, name).value(); }

  spec::Job job_ = small_job();
  run::Run run_ = engine::simulate(job_, {}).value();
};

TEST_F(Explain, EveryNumberOfTheSummaryHasAFormula) {
  run_.has_power = true;
  double next = 0;
  for (const run::SummaryField& field : run::summary_fields())
    if (!field.name.starts_with("performance.") && !field.name.starts_with("memory."))
      field.set(run_, next += 1.5);
  for (const run::SummaryField& field : run::summary_fields()) {
    const auto node = explain(run_, job_, std::string(field.name));
    ASSERT_TRUE(node) << field.name;
    EXPECT_FALSE(node->formula.empty()) << field.name;
    if (field.name == "memory.fits" || field.name == "memory.worst_stage") continue;
    ASSERT_TRUE(node->number) << field.name;
    EXPECT_EQ(*node->number, field.get(run_)) << field.name;
  }
}

TEST_F(Explain, WithoutPowerThereIsNothingToExplain) {
  run_.has_power = false;
  const auto node = explain(run_, job_, "mean_w_per_gpu");
  ASSERT_FALSE(node);
  EXPECT_TRUE(
      node.error().message.starts_with("--explain: nothing is known of power.mean_w_per_gpu: the "
                                       "catalog lacks power or cooling of "))
      << node.error().message;
}

TEST_F(Explain, TheInputsGiveTheNumberByTheFormula) {
  const Explanation tokens = explained("tokens_per_s");
  EXPECT_DOUBLE_EQ(*tokens.number, number(tokens, "global_batch_size") *
                                       number(tokens, "seq_length") /
                                       number(tokens, "step_time_s"));
  const Explanation rate = explained("model_tflops_per_gpu");
  EXPECT_DOUBLE_EQ(*rate.number, number(rate, "model_flops_per_step") / number(rate, "gpus") /
                                     number(rate, "step_time_s") / 1e12);
  const Explanation mfu = explained("mfu");
  EXPECT_DOUBLE_EQ(*mfu.number, number(mfu, "model_tflops_per_gpu") * 1e12 / number(mfu, "peak"));
  const Explanation nic = explained("links.nic.mean_gb_per_s");
  EXPECT_DOUBLE_EQ(*nic.number * 1e9, number(nic, "bytes_per_step") / number(nic, "NICs") /
                                          number(nic, "step_time_s"));
  const Explanation capacity = explained("memory.capacity_bytes");
  EXPECT_DOUBLE_EQ(*capacity.number,
                   number(capacity, "memory") - number(capacity, "memory_reserve"));
}

TEST_F(Explain, PartsAddUp) {
  for (const char* name : {"step_time_s", "memory.peak_bytes"}) {
    const Explanation node = explained(name);
    double sum = 0;
    for (const Explanation& part : node.inputs) sum += *part.number;
    EXPECT_NEAR(sum, *node.number, 1e-9 * *node.number) << name;
  }
}

TEST_F(Explain, TheTensorsOfActivationsAddUpToThem) {
  const Explanation node = explained("activations_bytes");
  double sum = 0;
  for (const Explanation& part : node.inputs)
    sum += part.source.empty() ? part.number.value_or(0) : 0;
  EXPECT_NEAR(sum, run_.memory.activations_bytes, 1);
}

TEST_F(Explain, EveryOperatorHasAPriceAndSources) {
  const plan::Plan plan = plan::make_plan(job_, workload::lower(job_));
  for (const workload::Operator& op : plan.operators) {
    const auto node = explain(run_, job_, "op:" + op.name);
    ASSERT_TRUE(node) << op.name;
    ASSERT_FALSE(node->inputs.empty()) << op.name;
    // Of a wait nothing but what says how long it is.
    EXPECT_GT(node->inputs.front().inputs.size(), op.kernels > 0 ? 2u : 0u) << op.name;
  }
}

TEST_F(Explain, EverySettingHasAnOrigin) {
  const Explanation settings = explained("");
  size_t count = 0;
  for (const Explanation& group : settings.inputs) {
    for (const Explanation& setting : group.inputs) {
      EXPECT_FALSE(setting.text.empty()) << setting.name;
      EXPECT_FALSE(setting.source.empty()) << setting.name;
      ++count;
    }
  }
  EXPECT_GT(count, 40u);
}

TEST_F(Explain, JsonIsTheSameTree) {
  const auto json = nlohmann::json::parse(to_json(explained("mfu")));
  EXPECT_EQ(json.at("value"), run_.performance.mfu);
  EXPECT_EQ(json.at("inputs").at(1).at("name"), "peak");
}

TEST_F(Explain, UnknownNamesSuggestTheNearest) {
  EXPECT_NE(explain(run_, job_, "mfuu").error().message.find("did you mean mfu?"),
            std::string::npos);
  EXPECT_NE(explain(run_, job_, "op:fc3").error().message.find("did you mean fc1?"),
            std::string::npos);
  EXPECT_NE(explain(run_, job_, "links.xgmi").error().message.find("uses no such link"),
            std::string::npos);
}

TEST_F(Explain, TheJobObjectHoldsTheContractsNames) {
  const auto job = nlohmann::json::parse(job_json(job_));
  EXPECT_EQ(job.at("model").at("name"), "gpt3-1.3b");
  // 24 layers of 12 h^2 + 13 h, h = 2048, the embedding of 50257 + 2048 rows, and the final norm of
  // 2 h.
  EXPECT_EQ(job.at("model").at("parameters"),
            24 * (12 * 2048 * 2048 + 13 * 2048) + (50257 + 2048) * 2048 + 2 * 2048);
  for (const char* name : {"tp", "cp", "pp", "vpp", "dp", "ep"})
    EXPECT_TRUE(job.at("parallelism").contains(name)) << name;
  EXPECT_EQ(job.at("parallelism").at("dp"), 4);
  EXPECT_EQ(job.at("training").at("micro_batches"), 4);
}

TEST(JobJson, SaysInWhatFormatWeightsAreKept) {
  spec::Job job = small_job();
  const auto training = [&] { return nlohmann::json::parse(job_json(job)).at("training"); };
  EXPECT_FALSE(training().contains("fp8_parameters"));
  job.training.fp8_parameters = true;
  job.training.precision = spec::Precision::kNvfp4;
  EXPECT_EQ(training().at("fp8_parameters"), true);
  EXPECT_FALSE(training().contains("fp8_recipe"));
  job.training.precision = spec::Precision::kFp8;
  EXPECT_EQ(training().at("fp8_parameters"), true);
  EXPECT_EQ(training().at("fp8_recipe"), "delayed");
}

TEST(Assumptions, SayHowFastOffloadedActivationsTravel) {
  spec::Job job = small_job();
  EXPECT_NE(assumptions(job).back().group, "host");
  job.training.offloaded_layers = 3;
  const run::Assumption last = assumptions(job).back();
  EXPECT_EQ(last.name, "activation_transfers");
  EXPECT_EQ(last.value, "25.2 GB/s");  // 40 % of 63
  EXPECT_NE(last.source.find("the activations of 3 layers"), std::string::npos);
  EXPECT_EQ(last.grade, "assumed");
}

}  // namespace
}  // namespace ergometer::report
