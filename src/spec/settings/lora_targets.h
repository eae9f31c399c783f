#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ergometer::spec {

/// The setting's words for the linear layers that `targets`, a list with commas in any framework's
/// words, names: "q,v,proj", with "qkv" for all three; empty for all linear layers. No value: a
/// word is known to nobody, and `unknown` is it.
std::optional<std::string> lora_targets(std::string_view targets, std::string& unknown);

}  // namespace ergometer::spec
