// SPDX-License-Identifier: Apache-2.0
// The functions that fmt's headers declare. The package's library has the major version in its name, so a
// binary that uses it starts on one release of a distribution only.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;

}  // namespace detail
FMT_END_NAMESPACE
