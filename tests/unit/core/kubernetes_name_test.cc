// SPDX-License-Identifier: Apache-2.0
#include "core/kubernetes_name.h"

#include <catch2/catch.hpp>
#include <string>

namespace holdfast {
namespace kubernetes_name_test {

TEST_CASE("names that Kubernetes objects can have") {
  for (const char* const name : {"a", "0", "orders", "pvc-0b7f1f2a", "db.example.com", "a--b"}) {
    CHECK(IsKubernetesName(name));
  }
  CHECK(IsKubernetesName(std::string(253, 'x')));
  CHECK_FALSE(IsKubernetesName(std::string(254, 'x')));
  for (const char* const name : {"", "-a", "a-", ".a", "A", "a_b", "a/b", "a b", "\x1b[2J", "ü"}) {
    CHECK_FALSE(IsKubernetesName(name));
  }
}

TEST_CASE("a pod is named with its namespace") {
  CHECK(IsNamespacedName("shop/web-0"));
  for (const char* const name : {"", "/", "web-0", "shop/", "/web-0", "shop/web/0", "Shop/web"}) {
    CHECK_FALSE(IsNamespacedName(name));
  }
}

TEST_CASE("what was asked for has at least one name, and no impossible one") {
  CHECK_FALSE(IsSound({}));
  CHECK(IsSound({.name_space = "shop", .name = "orders", .content = "pvc-1"}));
  CHECK(IsSound({.name_space = "", .name = "", .content = "pvc-1"}));
  CHECK_FALSE(IsSound({.name_space = "shop", .name = "Orders", .content = "pvc-1"}));
}

}  // namespace kubernetes_name_test
}  // namespace holdfast
