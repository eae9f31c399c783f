#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/test_support.h"
#include "run/run.h"
#include "spec/settings/settings.h"

namespace ergometer::engine::test {

using Values = std::vector<std::pair<std::string, std::string>>;

/// The job of these settings, by name or short name.
inline Result<spec::Job> try_job_of(const Values& values) {
  spec::Settings settings;
  for (const auto& [word, value] : values) {
    const spec::SettingInfo* info = spec::find_setting(word);
    settings.set(info == nullptr ? word : std::string(info->name), value, {});
  }
  return spec::resolve(settings);
}

/// The same; a job that cannot be is a failure of the test.
inline spec::Job job_of(const Values& values) { return base::value_of(try_job_of(values)); }

/// Llama-3-8B on air-cooled nodes of eight H100, 32 sequences a step: TP 2, PP 2. With 16 GPUs DP 4
/// and 8 micro batches.
inline spec::Job llama3_8b(int64_t gpus, const Values& more = {}) {
  Values values = {{"model", "llama3-8b"},
                   {"cluster", "hgx-h100"},
                   {"gpus", std::to_string(gpus)},
                   {"tensor_model_parallel_size", "2"},
                   {"pipeline_model_parallel_size", "2"},
                   {"micro_batch_size", "1"},
                   {"global_batch_size", "32"},
                   {"seq_length", "4096"}};
  values.insert(values.end(), more.begin(), more.end());
  return job_of(values);
}

/// Of all parts, seconds.
inline double total(const run::Breakdown& b) {
  return b.compute + b.exposed_all_reduce + b.exposed_all_gather + b.exposed_reduce_scatter +
         b.exposed_all_to_all + b.exposed_send_recv + b.optimizer + b.idle;
}

}  // namespace ergometer::engine::test
