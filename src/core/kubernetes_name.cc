// SPDX-License-Identifier: Apache-2.0
#include "core/kubernetes_name.h"

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::size_t kMaxName = 253;

// Of ASCII, whatever the locale.
bool IsLetterOrDigit(char character) {
  return ('a' <= character && character <= 'z') || ('0' <= character && character <= '9');
}

}  // namespace

bool IsKubernetesName(std::string_view text) {
  if (text.empty() || text.size() > kMaxName) return false;
  if (!IsLetterOrDigit(text.front()) || !IsLetterOrDigit(text.back())) return false;
  return std::ranges::all_of(text, [](char character) {
    return IsLetterOrDigit(character) || character == '.' || character == '-';
  });
}

bool IsSound(const RequestingObjects& objects) {
  if (objects == RequestingObjects{}) return false;
  return std::ranges::all_of(
      std::initializer_list<std::string_view>{objects.name_space, objects.name, objects.content},
      [](std::string_view name) { return name.empty() || IsKubernetesName(name); });
}

bool IsNamespacedName(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && IsKubernetesName(text.substr(0, slash)) &&
         IsKubernetesName(text.substr(slash + 1));
}

}  // namespace holdfast
