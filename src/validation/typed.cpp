#include "validation/typed.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/shell.h"
#include "run/run.h"
#include "validation/rows/job_draft.h"
#include "validation/rows/run_job.h"
#include "validation/score.h"

namespace ergometer::validation {
namespace {

std::string flag_of(std::string_view setting) {
  const spec::SettingInfo* info = spec::find_setting(setting);
  std::string flag(info->short_name.empty() ? info->name : info->short_name);
  for (char& c : flag)
    if (c == '_') c = '-';
  return flag;
}

/// The batch that the passes of a row make. Size by size: products may be beyond 64 bits.
void derive_batch(JobDraft& draft) {
  constexpr int64_t kMostBatch = 1'000'000'000;
  int64_t replicas = draft.number("gpus", 1);
  for (const char* size :
       {"tensor_model_parallel_size", "context_parallel_size", "pipeline_model_parallel_size"})
    replicas /= std::max<int64_t>(draft.number(size, 1), 1);
  const int64_t passes = draft.whole("grad_accum").value_or(0);
  const int64_t micro = std::max<int64_t>(draft.number("micro_batch_size", 1), 1);
  if (passes < 1 || replicas < 1 || passes > kMostBatch / micro / replicas) return;
  draft.say("global_batch_size", fmt::format("{}", passes * micro * replicas), "grad_accum");
}

/// Takes back a depth that the row itself contradicts (`make_job`).
void drop_mended_depth(const MeasuredRun& row, JobDraft& draft) {
  constexpr std::string_view kDepth = "num_layers";
  if (!draft.has(kDepth)) return;
  const auto made = make_job(row);
  if (made && std::ranges::find(made->fills, kDepth, &Fill::setting) != made->fills.end())
    draft.drop(kDepth);
}

/// The error says why there is nothing to type.
Result<std::string> typed_command(const MeasuredRun& row) {
  JobDraft draft(row);
  for (const auto step : {take_model, take_sizes, take_words, take_notes, take_software}) {
    step(draft);
    if (draft.error()) return tl::unexpected(*draft.error());
  }
  const auto cluster = node_and_network(row);
  if (!cluster)
    return input_error("gpu: found \"{}\"; no node of the catalog has it", row.cell("gpu"));
  derive_batch(draft);
  drop_mended_depth(row, draft);
  if (draft.number("pipeline_model_parallel_size", 1) == 1)
    draft.drop("virtual_pipeline_model_parallel_size");
  std::string text =
      fmt::format("ergometer simulate {} --cluster {}", base::shell_quoted(draft.text("model")),
                  base::shell_quoted(*cluster));
  for (const auto& [setting, value] : draft.settings().all()) {
    // Adapters are the row's task; their rank is the one usual with the task.
    const bool said = !value.origin.key.empty() || setting == "lora";
    if (!said || setting == "model") continue;
    const std::string flag = flag_of(setting);
    if (spec::find_setting(setting)->kind != spec::SettingKind::kSwitch)
      text += fmt::format(" --{} {}", flag, base::shell_quoted(value.text));
    else
      text += fmt::format(" --{}{}", value.text == "true" ? "" : "no-", flag);
  }
  return text;
}

}  // namespace

std::string commands_text(const std::vector<MeasuredRun>& rows) {
  std::string text;
  for (const MeasuredRun& row : rows) {
    const auto command = typed_command(row);
    text +=
        fmt::format("{}  {}\n", id_of(row), command ? *command : "# " + command.error().message);
  }
  return text;
}

std::string commands_json(const std::vector<MeasuredRun>& rows) {
  base::JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.array("commands", rows, [&](const MeasuredRun& row) {
    const auto command = typed_command(row);
    json.begin_object(base::kOneLine).member("id", id_of(row));
    json.key("command");
    command ? json.value(*command) : json.null();
    json.key("reason");
    command ? json.null() : json.value(command.error().message);
    json.end_object();
  });
  json.end_object();
  return json.take();
}

}  // namespace ergometer::validation
