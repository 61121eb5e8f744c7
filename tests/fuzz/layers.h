// SPDX-License-Identifier: Apache-2.0
// Precompiled for the fuzzer's build: headers that most files of the lower layers include.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
