// SPDX-License-Identifier: Apache-2.0
// What a CSI call brings along as secrets (fields with csi_secret). They are passed on in memory
// alone: never to a log, a record, an error or an argument.
#pragma once

#include <map>
#include <string>

namespace holdfast {

using Secrets = std::map<std::string, std::string>;

}  // namespace holdfast
