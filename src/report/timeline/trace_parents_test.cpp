#include "report/timeline/trace_parents.h"

#include <gtest/gtest.h>

namespace ergometer::report {
namespace {

run::Kernel kernel(int64_t start_ns, int64_t duration_ns, int64_t micro_batch, int64_t layer,
                   const std::string& pass) {
  run::Kernel made;
  made.name = "k";
  made.category = "gemm";
  made.start_ns = start_ns;
  made.duration_ns = duration_ns;
  made.micro_batch = micro_batch;
  made.layer = layer;
  made.pass = pass;
  return made;
}

TEST(ParentSlices, NestStepPassAndLayer) {
  ParentSlices parents;
  parents.add(kernel(0, 5, 0, -1, "forward"));  // an embedding: in no layer
  parents.add(kernel(5, 5, 0, 0, "forward"));
  parents.add(kernel(10, 5, 0, 0, "forward"));
  parents.add(kernel(15, 5, 0, 1, "forward"));
  parents.add(kernel(20, 5, 0, 1, "recompute"));
  parents.add(kernel(25, 5, 0, 1, "weight"));
  parents.add(kernel(30, 5, -1, -1, "optimizer"));
  std::string told;
  for (const ParentSlice& it : parents.of_rank(0, 40))
    told += it.name + ' ' + std::to_string(it.start_ns) + '-' + std::to_string(it.end_ns) + '\n';
  EXPECT_EQ(told,
            "step 0-40\n"
            "forward, micro batch 0 0-20\n"
            "layer 0 5-15\n"
            "layer 1 15-20\n"
            "backward, micro batch 0 20-30\n"
            "layer 1 20-30\n"
            "optimizer 30-35\n");
}

TEST(ParentSlices, AreOfTheComputeStreamAlone) {
  ParentSlices parents;
  run::Kernel other = kernel(0, 5, 0, 0, "forward");
  other.stream = 1;
  parents.add(other);
  EXPECT_TRUE(parents.of_rank(0, 40).empty());
}

}  // namespace
}  // namespace ergometer::report
