// What one look at a node costs, and one page for Prometheus. The sources of the host read a fake
// tree of a usual training node: two CPU packages, eight InfiniBand ports, 64 processors. Its files
// lie in a file system where the kernel's own would be: the cost is the program's and the system
// calls', without the drivers behind them.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "record/metrics/open_metrics.h"
#include "record/test_support.h"

namespace {

using namespace ergometer;
using namespace ergometer::record;

void add_packages(const FakeTree& tree) {
  for (int package = 0; package < 2; ++package) {
    const std::string zone = fmt::format("intel-rapl:{}", package);
    for (const auto& [path, name] :
         {std::pair(zone, fmt::format("package-{}", package)),
          std::pair(fmt::format("{0}/{0}:0", zone), std::string("dram"))}) {
      const std::string folder = "sys/class/powercap/" + path;
      tree.write(folder + "/name", name + "\n");
      tree.write(folder + "/energy_uj", "123456789012\n");
      tree.write(folder + "/max_energy_range_uj", "262143328850\n");
    }
    const std::string chip = fmt::format("sys/class/hwmon/hwmon{}/", package);
    tree.write(chip + "name", "coretemp\n");
    tree.write(chip + "temp1_label", fmt::format("Package id {}\n", package));
    tree.write(chip + "temp1_input", "65000\n");
  }
}

void add_ports(const FakeTree& tree) {
  for (int card = 0; card < 8; ++card) {
    const std::string port = fmt::format("sys/class/infiniband/mlx5_{}/ports/1/", card);
    tree.write(port + "state", "4: ACTIVE\n");
    tree.write(port + "link_layer", "InfiniBand\n");
    tree.write(port + "rate", "400 Gb/sec (4X NDR)\n");
    for (const char* counter : {"port_xmit_data", "port_rcv_data", "port_xmit_wait", "symbol_error",
                                "link_downed", "port_rcv_errors"})
      tree.write(port + "counters/" + counter, "123456789012345\n");
  }
}

void add_kernel(const FakeTree& tree) {
  std::string stat = "cpu  6400000 0 64000 64000000 0 0 0 0 0 0\n";
  for (int cpu = 0; cpu < 64; ++cpu)
    stat += fmt::format("cpu{} 100000 0 1000 1000000 0 0 0 0 0 0\n", cpu);
  tree.write("proc/stat", stat);
  tree.write("proc/loadavg", "64.00 60.00 50.00 65/2000 12345\n");
  tree.write("proc/meminfo",
             "MemTotal: 2113407612 kB\nMemFree: 1 kB\nMemAvailable: 1900000000 kB\n");
}

void one_look_at_the_host(benchmark::State& state) {
  const FakeTree tree;
  add_packages(tree);
  add_ports(tree);
  add_kernel(tree);
  std::vector<std::unique_ptr<Source>> sources;
  for (const auto open : {open_rapl, open_hwmon, open_infiniband, open_proc})
    sources.push_back(std::move(open(tree.options())).value());
  Batch batch;
  for (auto _ : state) {
    batch.clear();
    for (const auto& source : sources) source->read(batch);
    benchmark::DoNotOptimize(batch.readings.data());
  }
  state.counters["readings"] = static_cast<double>(batch.readings.size());
}
BENCHMARK(one_look_at_the_host)->Unit(benchmark::kMicrosecond);

void one_page(benchmark::State& state, NameSet names) {
  constexpr int kGpus = 8, kMetrics = 20;
  Snapshot snapshot;
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    run::Device device;
    device.index = gpu;
    device.name = "NVIDIA H200";
    device.host = "node0001";
    device.uuid = fmt::format("GPU-00000000-0000-0000-0000-{:012}", gpu);
    const size_t number = snapshot.add_device(device);
    for (int metric = 0; metric < kMetrics; ++metric)
      snapshot.set(number, static_cast<run::Metric>(metric), {0, 1234.5 + gpu});
  }
  size_t bytes = 0;
  for (auto _ : state)
    bytes = metrics_page(snapshot.look(), {}, {.names = names}, now_ns(), "").body.size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK_CAPTURE(one_page, own_names, NameSet::kErgometer)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(one_page, dcgm_names, NameSet::kDcgm)->Unit(benchmark::kMicrosecond);

}  // namespace
