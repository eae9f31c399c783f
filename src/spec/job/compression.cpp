#include "spec/job/compression.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"

namespace ergometer::spec {
namespace {

constexpr std::string_view kActivations = "compress.activations", kGradients = "compress.gradients";
constexpr std::string_view kTopK = "topk:";
constexpr double kMostKept = 0.5;

// As a parameter: the share of values that is sent, all of them in int8, fewer by top-k.

Compression compression_of(const Job& job, std::string_view name) {
  const base::Parameter* sent = job.software.parameters.find(name);
  if (sent == nullptr) return {};
  if (sent->value >= 1) return {Compression::Kind::kInt8, 1};
  return {Compression::Kind::kTopK, sent->value};
}

void compress(Job& job, std::string_view name, const Compression& how) {
  if (how.none()) return;
  job.software.parameters.set(std::string(name), {how.kept, "",
                                                  "asked for: " + compression_text(how) +
                                                      ", as a share of the values that is sent",
                                                  base::Grade::kAssumed});
}

}  // namespace

Compression activation_compression(const Job& job) { return compression_of(job, kActivations); }
Compression gradient_compression(const Job& job) { return compression_of(job, kGradients); }
void compress_activations(Job& job, const Compression& how) { compress(job, kActivations, how); }
void compress_gradients(Job& job, const Compression& how) { compress(job, kGradients, how); }

double wire_bytes(const Compression& how, double plain_bytes) {
  constexpr double kScale = 4, kPlace = 4;
  switch (how.kind) {
    case Compression::Kind::kInt8: return 1 + kScale / kScaledTogether;
    case Compression::Kind::kTopK: return how.kept * (plain_bytes + kPlace);
    case Compression::Kind::kNone: break;
  }
  return plain_bytes;
}

std::string compression_text(const Compression& how) {
  if (how.none()) return "none";
  if (how.kind == Compression::Kind::kInt8) return "int8";
  return fmt::format("{}{}", kTopK, base::shortest(how.kept));
}

std::optional<Compression> parse_compression(std::string_view text) {
  if (text == "none") return Compression{};
  if (text == "int8") return Compression{Compression::Kind::kInt8, 1};
  if (!text.starts_with(kTopK)) return std::nullopt;
  const auto kept = base::parse_number(text.substr(kTopK.size()));
  if (!kept || *kept <= 0 || *kept > kMostKept) return std::nullopt;
  return Compression{Compression::Kind::kTopK, *kept};
}

}  // namespace ergometer::spec
