#include <gtest/gtest.h>
#include <unistd.h>

#include "record/test_support.h"

namespace ergometer::record {
namespace {

using run::Metric;

constexpr const char* kRange = "262143328850\n";

void add_zone(const FakeTree& tree, const std::string& path, const std::string& name,
              const std::string& energy) {
  const std::string folder = "sys/class/powercap/" + path;
  tree.write(folder + "/name", name + "\n");
  tree.write(folder + "/energy_uj", energy + "\n");
  tree.write(folder + "/max_energy_range_uj", kRange);
}

/// Two packages with their parts, as a two-socket Xeon shows them.
void add_packages(const FakeTree& tree) {
  add_zone(tree, "intel-rapl:0", "package-0", "1000000");
  add_zone(tree, "intel-rapl:0/intel-rapl:0:0", "core", "600000");
  add_zone(tree, "intel-rapl:0/intel-rapl:0:1", "dram", "250000");
  add_zone(tree, "intel-rapl:0:1", "dram", "250000");  // the class lists parts too
  add_zone(tree, "intel-rapl:1", "package-1", "262143000000");
  add_zone(tree, "intel-rapl:2", "psys", "9000000");
  add_zone(tree, "intel-rapl-mmio:0", "package-0", "1000000");
}

TEST(Rapl, PackagesAndTheirMemory) {
  const FakeTree tree;
  add_packages(tree);
  const auto source = open_rapl(tree.options());
  ASSERT_TRUE(source);
  const auto devices = (*source)->devices();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[1].kind, run::DeviceKind::kCpu);
  EXPECT_EQ(devices[1].index, 1);
  EXPECT_EQ(devices[1].name, "package-1");
  EXPECT_EQ(look(**source), (Look{{{0, Metric::kEnergy}, 1.0},
                                  {{0, Metric::kMemoryEnergy}, 0.25},
                                  {{1, Metric::kEnergy}, 262143.0}}));
}

TEST(Rapl, TheCounterGoesOnBehindItsRange) {
  const FakeTree tree;
  add_packages(tree);
  const auto source = open_rapl(tree.options());
  ASSERT_TRUE(source);
  look(**source);
  tree.write("sys/class/powercap/intel-rapl:1/energy_uj", "1671150\n");
  // 262143.32885 J is where it begins anew, 1.67115 J further.
  EXPECT_NEAR((look(**source)[{1, Metric::kEnergy}]), 262145.0, 1e-6);
  EXPECT_NEAR((look(**source)[{1, Metric::kEnergy}]), 262145.0, 1e-6);
  tree.write("sys/class/powercap/intel-rapl:1/energy_uj", "1000000\n");
  EXPECT_NEAR((look(**source)[{1, Metric::kEnergy}]), 2 * 262143.32885 + 1, 1e-6);
}

/// For a moment somebody who is not root, where that is who runs the test.
class AsNobody {
 public:
  AsNobody() { EXPECT_EQ(::seteuid(::getuid() == 0 ? 65534 : ::getuid()), 0); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() { EXPECT_EQ(::seteuid(::getuid()), 0); }
};

TEST(Rapl, WithoutPermissionSaysWhatToDo) {
  namespace fs = std::filesystem;
  const FakeTree tree;
  add_zone(tree, "intel-rapl:0", "package-0", "1000000");
  fs::permissions(tree.path(), fs::perms::all);
  fs::permissions(tree.path("sys/class/powercap/intel-rapl:0/energy_uj"), fs::perms::none);
  const AsNobody nobody;
  const auto source = open_rapl(tree.options());
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, base::ErrorKind::kMissing);
  for (const char* part : {"Permission denied", "CVE-2020-8694", "chmod a+r", "setcap"})
    EXPECT_NE(source.error().message.find(part), std::string::npos) << source.error().message;
}

TEST(Rapl, NoneHere) {
  const FakeTree tree;
  const auto source = open_rapl(tree.options());
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, base::ErrorKind::kMissing);
  EXPECT_NE(source.error().message.find("intel_rapl_msr"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::record
