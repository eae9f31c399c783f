#include "cli/job/settled_job.h"

#include "spec/files/settings_record.h"

namespace ergometer::cli {

Result<spec::Settings> settled_job(const spec::Settings& settings) {
  ERGOMETER_ASSIGN(spec::Settings whole, spec::without_files(settings));
  const spec::Settings::Value* steps = whole.find("gradient_accumulation_steps");
  if (steps == nullptr) return whole;
  const spec::Origin origin = steps->origin;
  ERGOMETER_ASSIGN(const spec::Job job, spec::resolve(whole));
  whole.erase("gradient_accumulation_steps");
  whole.set("global_batch_size", std::to_string(job.training.global_batch), origin);
  return whole;
}

}  // namespace ergometer::cli
