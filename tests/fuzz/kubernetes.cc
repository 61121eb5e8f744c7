// SPDX-License-Identifier: Apache-2.0
// The list of PersistentVolumes that an audit is given, and the sizes in it: a list that is taken
// has what an audit needs, and a size is written as it is read.
#include <sstream>

#include "cli/audit_objects.h"
#include "core/kubernetes_quantity.h"
#include "input.h"

namespace holdfast::fuzz {
namespace {

void TrySize(const std::string& text) {
  const auto size = ParseQuantity(text);
  if (!size.ok()) return;
  Require(*size >= 0, "a size is not negative");
  Require(ParseQuantity(FormatQuantity(*size)) == size, "a size is written as it is read");
}

void TryList(const std::string& text) {
  std::istringstream input(text);
  const auto objects = cli::ParseKubernetesObjects(input);
  if (!objects.ok()) {
    Require(!MessageOf(objects.status()).empty(), "a list is refused with a reason");
    return;
  }
  for (const cli::PersistentVolume& volume : objects->volumes) {
    Require(!volume.name.empty(), "a PersistentVolume has a name");
    Require(volume.driver.empty() == volume.handle.empty(), "a CSI volume has driver and handle");
    TrySize(volume.capacity);
  }
  for (const cli::SnapshotContent& content : objects->contents) {
    Require(!content.name.empty() && !content.driver.empty(), "a content has name and driver");
  }
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  holdfast::fuzz::Input input(data, size);
  if (input.Byte() % 4 == 0) {
    holdfast::fuzz::TrySize(input.Rest());
  } else {
    holdfast::fuzz::TryList(input.Rest());
  }
  return 0;
}
