// On what a row ran.
#include <fmt/format.h>

#include "base/nearest.h"
#include "spec/catalog/read.h"
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
    {"multi-node", "A100", "vtrain-a100", "the paper's cluster: 800 Gb/s a node"},
    {"Megatron-LM README H100", "H100", "eos", "the table's cluster"},
    {"MosaicML", "A100-SXM4-80GB", "hgx-a100-80gb", "the table's: 1600 Gb/s RoCE"},
};

std::optional<std::string_view> known(std::string_view name) {
  for (const spec::CatalogKind kind : {spec::CatalogKind::kCluster, spec::CatalogKind::kNode})
    if (const spec::CatalogEntry* entry = spec::find_in_catalog(kind, name)) return entry->name;
  return std::nullopt;
}

std::optional<std::string_view> site_of(JobDraft& draft, std::string_view& reason) {
  for (const Site& site : kSites) {
    if (!draft.source_has(site.source) || !contains(draft.cell("gpu"), site.gpu)) continue;
    if (!known(site.cluster)) continue;
    reason = site.reason;
    return site.cluster;
  }
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

void take_cluster(JobDraft& draft) {
  const std::string_view gpu = draft.cell("gpu");
  std::string_view reason = "the catalog's node with this GPU";
  std::optional<std::string_view> name = site_of(draft, reason);
  if (!name)
    if (const auto node = node_of_gpu(gpu)) name = known(*node);
  if (!name) {
    if (const spec::CatalogEntry* entry = spec::find_in_catalog(spec::CatalogKind::kNode, gpu))
      name = entry->name;
  }
  if (!name)
    return draft.refuse(fmt::format("gpu: found \"{}\"; the catalog knows {}", gpu, known_gpus()));
  draft.fill("cluster", std::string(*name), reason);
}

}  // namespace ergometer::validation
