// Plays a Run or a telemetry file back and serves it to Prometheus: what `ergometer record --replay
// RUN --listen ADDRESS` does, without the rest. Prints where it listens; ends with its input.
//
//   serve_replay FILE ADDRESS:PORT SPEED own|dcgm
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "record/metrics/metrics_server.h"
#include "record/sources.h"

namespace {

using namespace ergometer;

bool input_ended(int wait_ms) {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  char ignored = 0;
  return ::poll(&input, 1, wait_ms) > 0 && ::read(STDIN_FILENO, &ignored, 1) <= 0;
}

int fail(const base::Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  return static_cast<int>(error.kind);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  record::SourceOptions options;
  options.replay = arguments[1];
  options.replay_speed = std::atof(arguments[3]);
  auto sources = record::open_sources(options);
  if (!sources) return fail(sources.error());
  record::Source& source = *sources->open.front();

  record::Snapshot snapshot;
  for (const run::Device& device : source.devices()) snapshot.add_device(device);
  record::RecorderHealth health{.ticks = 1, .missed_ticks = 0, .sources = {}};
  record::MetricsOptions metrics;
  if (std::string_view(arguments[4]) == "dcgm") metrics.names = record::NameSet::kDcgm;
  const auto server = record::MetricsServer::start(arguments[2], [&](std::string_view accept) {
    return record::metrics_page(snapshot.look(), health, metrics, record::now_ns(), accept);
  });
  if (!server) return fail(server.error());
  fmt::print("{}\n", server->address());
  std::fflush(stdout);

  constexpr int kTickMs = 20;
  record::Batch batch;
  while (!input_ended(kTickMs)) {
    batch.clear();
    source.read(batch);
    for (const record::Reading& reading : batch.readings)
      snapshot.set(reading.device, reading.metric, reading.sample);
  }
  return 0;
}
