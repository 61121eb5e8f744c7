// SPDX-License-Identifier: Apache-2.0
// The configuration file.
#include "core/config_file.h"

#include "valid_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  const auto config =
      ParseConfig(std::string(reinterpret_cast<const char*>(data), size), fuzz::Kinds());
  if (config.ok()) {
    fuzz::RequireSound(*config);
  } else {
    fuzz::Require(absl::IsInvalidArgument(config.status()), "a mistake is called one");
  }
  return 0;
}
