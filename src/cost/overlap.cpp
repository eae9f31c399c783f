// What it predicts: how much longer a compute kernel takes while a collective runs beside it, and
// the reverse.
//
//   GEMM           t(SMs - c) / t(SMs), gemm.cpp with fewer SMs: waves are what counts
//   grouped, attn. SMs / (SMs - c)
//   memory-bound   1 / (1 - share)
//   collective     overlap.collective_slowdown
//
// c: SMs the collective's channels occupy; share: part of the HBM bandwidth its steps take, 3 B for
// every byte on the wire; a collective paced by the network takes less of it, in the ratio of NIC
// to in-domain bandwidth, up to what all NICs of a node carry through a ring of its GPUs.
//
// Parameters: catalog/kernels "overlap.*": channel counts of NCCL and RCCL.
//
// Worked: 100 SMs, 20 taken: a GEMM of 100 tiles needs two waves on the 80 left, so 2.0; one of 80
// tiles none more, so 1; where tiles may be halved without loss, 10 waves instead of 8, so 1.25. A
// norm beside a collective that takes a third of HBM: 1 / (1 - 1/3) = 1.5.
//
// Range: one collective at a time. Two kernels that each fill the machine run one after the other;
// that is the engine's part.
//
// How far off: arXiv 2507.03114 reports 18.9 % mean slowdown (A100, H100, MI210, MI250), Galvatron
// 12.6 %; single kernels were not compared.
#include <algorithm>

#include "cost/parameters.h"

namespace ergometer::cost {

using workload::CollectiveKind;
using workload::Operator;
using workload::OperatorKind;

namespace {

double taken_sms(const OverlapParameters& overlap, const Device& device,
                 const Operator& collective) {
  const double taken = collective.collective == CollectiveKind::kSendRecv ? overlap.send_sms
                                                                          : overlap.collective_sms;
  return std::min(
      taken, device.sms / 2);  // a collective that asks for more is a misconfigured catalog entry
}

double memory_slowdown(const CostModel::Parameters& p, const Operator& collective) {
  const double fraction = leaves_domain(p, collective.group) ? p.network_memory_fraction : 1;
  return 1 / (1 - std::min(0.9, p.overlap.memory_share * fraction));
}

}  // namespace

double CostModel::compute_slowdown(const Operator& compute, const Operator& collective) const {
  const Parameters& p = *parameters_;
  if (compute.kind == OperatorKind::kCollective || collective.kind != OperatorKind::kCollective)
    return 1;
  const Price alone = price(compute, {});
  if (alone.limit == Limit::kLatency) return 1;
  if (alone.clocked_s <= 0) return memory_slowdown(p, collective);
  const double left = p.device.sms - taken_sms(p.overlap, p.device, collective);
  if (compute.kind != OperatorKind::kGemm) return p.device.sms / left;
  const double full_s = gemm_compute_s(p.device, p.gemm, compute, p.device.sms);
  return std::max(1.0, gemm_compute_s(p.device, p.gemm, compute, left) / full_s);
}

double CostModel::collective_slowdown(const Operator& collective, const Operator& compute) const {
  if (compute.kind == OperatorKind::kCollective || collective.kind != OperatorKind::kCollective)
    return 1;
  return parameters_->overlap.collective_slowdown;
}

}  // namespace ergometer::cost
