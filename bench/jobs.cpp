#include "jobs.h"

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

#include "spec/catalog/read.h"
#include "spec/settings/settings.h"

namespace ergometer::bench {
namespace {

template <class T>
T value_or_exit(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(static_cast<int>(result.error().kind));
}

spec::Job resolve(std::initializer_list<std::pair<const char*, std::string>> values) {
  spec::Settings settings;
  for (const auto& [name, value] : values) settings.set(name, value, {});
  return value_or_exit(spec::resolve(settings));
}

}  // namespace

double Prepared::rank_instructions() const {
  double instructions = 0;
  for (const plan::Role& role : plan.roles)
    instructions += static_cast<double>(role.program.size());
  return instructions * static_cast<double>(plan.ranks_per_role);
}

spec::Job gpt3(int64_t data_parallel, int64_t micro_batches) {
  return resolve({{"model", "gpt3-175b"},
                  {"cluster", "dgx-a100"},
                  {"gpus", std::to_string(64 * data_parallel)},
                  {"tensor_model_parallel_size", "8"},
                  {"pipeline_model_parallel_size", "8"},
                  {"micro_batch_size", "1"},
                  {"global_batch_size", std::to_string(micro_batches * data_parallel)},
                  {"seq_length", "2048"}});
}

spec::Job llama3_70b() {
  return resolve({{"model", "llama3-70b"},
                  {"cluster", "charllm-h200"},
                  {"gpus", "32"},
                  {"tensor_model_parallel_size", "4"},
                  {"pipeline_model_parallel_size", "4"},
                  {"micro_batch_size", "1"},
                  {"global_batch_size", "128"},
                  {"seq_length", "8192"}});
}

Prepared prepare(const spec::Job& job) {
  Prepared ready;
  ready.job = job;
  ready.workload = workload::lower(job);
  ready.plan = plan::make_plan(job, ready.workload);
  const cost::CostModel model = value_or_exit(cost::CostModel::make(job));
  ready.costs = cost::price_plan(model, ready.plan, job);
  ready.stretch = engine::settle_contention(job, ready.plan, model, ready.costs);
  // Clocks between 95 and 105 % of the reference, spread over the ranks by a prime so that
  // neighbours differ.
  for (int64_t rank = 0; rank < job.gpus; ++rank) {
    const double spread = static_cast<double>(rank * 7919 % 1000) / 1000.0;
    ready.clocks_hz.push_back(ready.costs.reference_clock_hz * (0.95 + 0.1 * spread));
  }
  return ready;
}

}  // namespace ergometer::bench
