#include "base/json_writer.h"
#include "report/decision/loop_output.h"
#include "run/run.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;
using campaign::Loop;

void write_loop_phases(JsonWriter& json, const Loop& loop) {
  json.objects("phases", loop.phases, [&](const campaign::PlayedLoopPhase& phase) {
    json.member("name", phase.name).member("does", campaign::to_word(phase.does));
    json.member("pool", phase.pool).member("gpus", phase.job.gpus).member("steps", phase.steps);
    json.member("time_s", phase.seconds);
    json.member("time_s_low", phase.low_s).member("time_s_high", phase.high_s);
    if (loop.has_power) json.member("energy_j", phase.energy_j);
    json.member("peak_memory_bytes", phase.peak_bytes);
    json.member("resident_bytes", phase.resident_bytes).member("beside_bytes", phase.beside_bytes);
    json.member("capacity_bytes", phase.capacity_bytes).member("fits", phase.fits());
  });
}

void write_loop_switches(JsonWriter& json, const Loop& loop) {
  json.objects("switches", loop.switches, [&](const campaign::LoopSwitch& one) {
    json.member("what", one.what).member("pool", one.pool).known("other_pool", one.other_pool);
    json.member("bytes", one.bytes).member("time_s", one.seconds);
  });
}

void write_loop_pools(JsonWriter& json, const Loop& loop) {
  json.objects("pools", loop.pools, [&](const campaign::LoopPool& pool) {
    json.member("name", pool.name).member("gpus", pool.gpus);
    json.member("busy_s", pool.busy_s).member("waiting_s", loop.iteration_s - pool.busy_s);
    if (loop.has_power) json.member("standing_w", pool.standing_w);
  });
}

}  // namespace

std::string loop_json(const Loop& loop, const std::string& explanation) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("name", loop.program.name);
  json.member("prompts", loop.program.prompts);
  json.member("samples", loop.program.prompts * loop.program.samples);
  json.member("staleness", loop.program.staleness);
  json.member("mean_response_tokens", loop.mean_response);
  json.member("longest_response_tokens", loop.longest_response);
  json.member("gpus", loop.gpus()).member("iteration_s", loop.iteration_s);
  json.member("iteration_s_low", loop.low_s).member("iteration_s_high", loop.high_s);
  json.member("latency_s", loop.latency_s).member("rollout_tail_s", loop.tail_s);
  if (loop.program.tool_calls > 0) json.member("rollout_tools_s", loop.program.seconds_of_tools());
  json.member("tokens_per_s", loop.tokens_per_s())
      .member("gpu_hours_per_iteration", loop.gpu_hours());
  if (loop.has_power) json.member("energy_j_per_iteration", loop.energy_j);
  json.member("fits", loop.fits());
  write_loop_phases(json, loop);
  write_loop_switches(json, loop);
  write_loop_pools(json, loop);
  if (!explanation.empty()) json.key("explain").raw(explanation);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
