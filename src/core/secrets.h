// SPDX-License-Identifier: Apache-2.0
// The secrets of a CSI call (its fields with csi_secret). They are passed on in memory only: never
// to a log, a record, an error or an argument. No request is ever logged (rpc/call_runner.h), and
// nodes get requests without secrets (rpc::ClearSecrets).
#pragma once

#include <map>
#include <string>
#include <utility>

namespace holdfast {

// Cannot be printed, compared or turned into text; Reveal is the only way to read a value.
class Secrets final {
 public:
  Secrets() = default;
  explicit Secrets(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  [[nodiscard]] bool empty() const { return values_.empty(); }

  // The value of `key`, "" if there is none. Only for the code that authenticates with it.
  [[nodiscard]] std::string Reveal(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace holdfast
