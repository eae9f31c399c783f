#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "import/bytes/byte_source.h"

namespace ergometer::importer {

/// Zstd in tar in gzip is read; what is packed deeper than this is nothing of ours.
inline constexpr int kMostLayers = 4;

/// Whether a source that begins so is packed, by gzip or by zstd.
bool is_packed(std::string_view head);

/// What gzip or zstd packed, one member or frame or several; `head` says which, and must be packed.
/// A stream that ends too early is cut off. Input errors: one that is damaged; one that grows more
/// than 100-fold beyond 256 MiB (traces shrink 10 to 40-fold); zstd with a window above 128 MiB.
std::unique_ptr<ByteSource> unpack(std::string_view head, ByteSource& packed, std::string name);

// One a format.

std::unique_ptr<ByteSource> unpack_gzip(ByteSource& packed, std::string name);
std::unique_ptr<ByteSource> unpack_zstd(ByteSource& packed, std::string name);
/// An input error where `unpacked` bytes out of `packed` ones are more than any trace gives.
Result<void> check_growth(const std::string& name, uint64_t packed, uint64_t unpacked);

}  // namespace ergometer::importer
