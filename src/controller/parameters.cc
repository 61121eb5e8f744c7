// SPDX-License-Identifier: Apache-2.0
#include "controller/parameters.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "core/retention.h"

namespace holdfast::controller {
namespace {

constexpr char kCoPrefix[] = "csi.storage.k8s.io/";
constexpr char kCoFilesystem[] = "csi.storage.k8s.io/fstype";

absl::Status SetParameter(ClassParameters& parameters, const std::string& key,
                          const std::string& value) {
  if (key == "pool") {
    ASSIGN_OR_RETURN(parameters.pools, ParsePoolNames(value));
  } else if (key == "provisioning") {
    ASSIGN_OR_RETURN(parameters.provisioning, ParseProvisioning(value));
  } else if (key == "mkfsOptions") {
    parameters.mkfs_options = value;
  } else if (key == kKeepDeleted) {
    ASSIGN_OR_RETURN(parameters.keep_deleted, ParseRetention(value));
  } else {
    return InvalidArgument(
        "unknown parameter '{}' (known: pool, provisioning, mkfsOptions, keepDeleted)", key);
  }
  parameters.given[key] = value;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParsePoolNames(const std::string& value) {
  std::vector<std::string> names;
  for (const absl::string_view part : absl::StrSplit(value, ',')) {
    std::string name(absl::StripAsciiWhitespace(part));
    RETURN_IF_ERROR(Annotate(ValidatePoolName(name), "parameter 'pool'"));
    if (std::ranges::find(names, name) != names.end()) {
      return InvalidArgument("parameter 'pool' names '{}' twice", name);
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::string PoolNamesText(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ",");
}

bool IsOfCo(const std::string& key) { return key.starts_with(kCoPrefix); }

absl::StatusOr<ClassParameters> ParseParameters(
    const google::protobuf::Map<std::string, std::string>& parameters) {
  ClassParameters parsed;
  for (const auto& [key, value] : parameters) {
    if (key == kCoFilesystem) parsed.filesystem = value;
    if (!IsOfCo(key)) RETURN_IF_ERROR(SetParameter(parsed, key, value));
  }
  return parsed;
}

}  // namespace holdfast::controller
