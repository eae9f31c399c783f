#include "workload/block/fuse.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/collection.h"
#include "workload/tensors.h"

namespace ergometer::workload {
namespace {

bool is_product(const Operator& op) {
  return (op.kind == OperatorKind::kGemm || op.kind == OperatorKind::kGroupedGemm) &&
         op.layout != GemmLayout::kNt;
}

/// Which word of `fuse` asks for a collective to be fused with a product in front of it or behind.
std::string_view word_for(const Operator& collective, const Operator& product, bool product_first) {
  if (collective.kind != OperatorKind::kCollective || !is_product(product)) return {};
  const bool tensor = collective.group == GroupKind::kTensor;
  switch (collective.collective) {
    case CollectiveKind::kAllGather: return tensor && !product_first ? "ag-gemm" : "";
    case CollectiveKind::kReduceScatter: return tensor && product_first ? "gemm-rs" : "";
    case CollectiveKind::kAllToAll: {
      const bool tokens =
          collective.name == "ep_all_to_all_dispatch" || collective.name == "ep_all_to_all_combine";
      return tokens && product.kind == OperatorKind::kGroupedGemm ? "a2a-gemm" : "";
    }
    default: return {};
  }
}

/// The list of a block, and what stands in it.
class List {
 public:
  List(const spec::Job& job, Workload& workload, std::vector<Item>& items)
      : words_(job.training.fuse), operators_(workload.operators), items_(items) {}

  void fuse(int64_t tensor_members, int64_t expert_members) {
    for (size_t i = 0; i + 1 < items_.size(); ++i) {
      size_t next = i + 1;
      if (sorts_chunks(next) && next + 1 < items_.size()) ++next;
      for (const bool product_first : {false, true}) {
        const size_t product = product_first ? i : next, collective = product_first ? next : i;
        if (!asked(collective, product, product_first, next - i)) continue;
        const bool tensor = op(collective).group == GroupKind::kTensor;
        join(op(collective), op(product), product_first, tensor ? tensor_members : expert_members);
        items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     items_.begin() + static_cast<std::ptrdiff_t>(next));
        break;
      }
    }
  }

 private:
  bool in_line(size_t i) const {
    return items_[i].kind == Item::Kind::kOperator && items_[i].stream == Stream::kCompute;
  }
  Operator& op(size_t i) { return operators_[static_cast<size_t>(items_[i].op)]; }
  bool sorts_chunks(size_t i) {
    constexpr std::string_view kSorts[] = {"sort_chunks", "sort_chunks_backward", "permute",
                                           "unpermute", "unpermute_backward"};
    return in_line(i) && base::contains(kSorts, std::string_view(op(i).name));
  }
  bool asked(size_t collective, size_t product, bool product_first, size_t distance) {
    if (!in_line(collective) || !in_line(product) || op(collective).fused) return false;
    const std::string_view word = word_for(op(collective), op(product), product_first);
    return base::contains(words_, word) && (distance == 1 || word == "a2a-gemm") &&
           op(collective).pass == op(product).pass;
  }
  static void join(Operator& collective, Operator& product, bool product_first, int64_t members) {
    auto fused = std::make_shared<FusedProduct>();
    fused->comes_first = product_first;
    fused->apart = product;
    const Tensors tensors = tensors_of(product, 1);
    const double handed = product_first ? tensors.written_bytes : tensors.read_bytes;
    product.bytes -= handed * (1 - 1 / static_cast<double>(members));
    fused->inside = product;
    collective.fused = std::move(fused);
    collective.name += "_fused";
    collective.kernels = 0;
  }

  const std::vector<std::string>& words_;
  std::vector<Operator>& operators_;
  std::vector<Item>& items_;
};

}  // namespace

void fuse(const spec::Job& job, int64_t tensor_members, int64_t expert_members,
          Workload& workload) {
  if (job.training.fuse.empty()) return;
  for (Block& block : workload.blocks)
    for (std::vector<Item>* items : {&block.forward, &block.backward, &block.recompute})
      List(job, workload, *items).fuse(tensor_members, expert_members);
}

}  // namespace ergometer::workload
