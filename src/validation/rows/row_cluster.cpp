// On what a row ran.
#include <fmt/format.h>

#include "base/nearest.h"
#include "base/text.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_names.h"
#include "validation/rows/job_draft.h"

namespace ergometer::validation {
namespace {

/// A source that ran on a site that the catalog knows; `gpu` narrows it down.
struct Site {
  std::string_view source, gpu, cluster, reason;
};
constexpr Site kSites[] = {
    {"Narayanan", "A100", "selene", "the paper's cluster"},
    {"Korthikanti", "A100", "selene", "the paper's cluster"},
    {"BigScience", "A100", "jean-zay-a100", "the project's cluster"},
    {"nanotron", "H100", "hf-h100", "the benchmark's cluster"},
    {"single-node", "A100", "hgx-a100-40gb", "the paper's single-node server, an A100 40 GB"},
    {"Megatron-LM README H100", "H100", "eos", "the table's cluster"},
    {"MosaicML", "A100-SXM4-80GB", "hgx-a100-80gb", "the table's: 1600 Gb/s RoCE"},
};

std::optional<std::string_view> site_of(JobDraft& draft, std::string_view& reason) {
  for (const Site& site : kSites) {
    if (!draft.source_has(site.source) || !contains(draft.cell("gpu"), site.gpu)) continue;
    reason = site.reason;
    return site.cluster;
  }
  return std::nullopt;
}

/// The whole number that a text ends with, blanks apart; the text keeps what stands before it.
std::optional<int64_t> take_last_number(std::string_view& text) {
  const std::string_view left = base::trimmed(text);
  const size_t digits = left.find_last_not_of("0123456789") + 1;  // 0 where nothing else stands
  text = left.substr(0, digits);
  const auto number = base::parse_integer(left.substr(digits));
  return number ? std::optional(*number) : std::nullopt;
}

/// "inter-node 800 Gb/s", "node-node interconnect 1600 Gbps", "4 x 100 Gb/s RoCE per node".
std::optional<int64_t> node_gbps_in(std::string_view clause) {
  const bool of_node = contains(clause, "inter-node") || contains(clause, "node-node") ||
                       contains(clause, "per node");
  const size_t unit = clause.find("Gb");
  if (!of_node || unit == std::string_view::npos) return std::nullopt;
  std::string_view before = clause.substr(0, unit);
  const auto rate = take_last_number(before);
  before = base::trimmed(before);
  if (!rate || !before.ends_with('x')) return rate;
  before.remove_suffix(1);
  return *rate * take_last_number(before).value_or(1);
}

/// Of a row whose GPUs are those of several nodes.
std::optional<int64_t> node_gbps(const MeasuredRun& row) {
  const auto gpus = base::parse_integer(row.cell("gpus"));
  const auto per_node = base::parse_integer(row.cell("gpus_per_node"));
  if (!gpus || !per_node || *gpus <= *per_node) return std::nullopt;
  for (const char* column : {"overlap_notes", "notes"})
    for (const std::string& part : base::split(row.cell(column), ';'))
      if (const auto gbps = node_gbps_in(part)) return gbps;
  return std::nullopt;
}

std::string known_gpus() {
  std::string list;
  for (const spec::CatalogEntry& entry : spec::catalog())
    if (entry.kind == spec::CatalogKind::kGpu)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", entry.name);
  return list;
}

}  // namespace

std::optional<std::string> node_and_network(const MeasuredRun& row) {
  const auto gpu = spec::node_of_gpu(row.cell("gpu"));
  if (!gpu) return std::nullopt;
  if (const auto gbps = node_gbps(row))
    return fmt::format("{{extends: {}, node_bandwidth: {} Gb/s}}", gpu->node, *gbps);
  return std::string(gpu->node);
}

void take_cluster(JobDraft& draft) {
  const std::string_view gpu = draft.cell("gpu");
  std::string_view reason = "the catalog's node with this GPU";
  std::optional<std::string> name;
  if (const auto site = site_of(draft, reason)) name = *site;
  if (!name) name = node_and_network(draft.run);
  if (!name) {
    if (const spec::CatalogEntry* entry = spec::find_in_catalog(spec::CatalogKind::kNode, gpu))
      name = entry->name;
  }
  if (!name)
    return draft.refuse(fmt::format("gpu: found \"{}\"; the catalog knows {}", gpu, known_gpus()));
  draft.fill("cluster", *name, reason);
}

}  // namespace ergometer::validation
