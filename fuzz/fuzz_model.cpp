// A Hugging Face config.json: refused with a message, or a model whose parameters can be counted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "spec/catalog/read.h"
#include "workload/parameters.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = ergometer::spec::parse_model(text, "config.json");
  if (!model) {
    if (model.error().message.empty()) std::abort();
    return 0;
  }
  if (model->hidden <= 0 || model->heads <= 0 || model->layers.empty()) std::abort();
  const auto count = ergometer::workload::count_parameters(*model);
  if (count.total <= 0 || count.active <= 0 || count.active > count.total) std::abort();
  return 0;
}
