// SPDX-License-Identifier: Apache-2.0
// Describes the result of a call in tests: an absl::Status or an absl::StatusOr.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "core/status.h"

namespace holdfast::test {

inline absl::Status StatusOf(const absl::Status& outcome) { return outcome; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& outcome) {
  return outcome.status();
}

template <typename Outcome>
absl::StatusCode CodeOf(const Outcome& outcome) {
  return StatusOf(outcome).code();
}

// The value of a call that must succeed.
template <typename T>
T Value(absl::StatusOr<T> outcome) {
  INFO(outcome.status());
  REQUIRE(outcome.ok());
  return *std::move(outcome);
}

}  // namespace holdfast::test

#define REQUIRE_OK(expression)                                                   \
  do {                                                                           \
    const absl::Status outcome_status_ = ::holdfast::test::StatusOf(expression); \
    INFO(outcome_status_);                                                       \
    REQUIRE(outcome_status_.ok());                                               \
  } while (false)

// `code` without the class name (kNotFound); `text` is part of the message.
#define CHECK_FAILS(expression, expected_code, text)                             \
  do {                                                                           \
    const absl::Status outcome_status_ = ::holdfast::test::StatusOf(expression); \
    CHECK(outcome_status_.code() == absl::StatusCode::expected_code);            \
    CHECK_THAT(::holdfast::MessageOf(outcome_status_), Catch::Contains(text));   \
  } while (false)
