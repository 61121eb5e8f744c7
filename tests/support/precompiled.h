// SPDX-License-Identifier: Apache-2.0
// Precompiled for the unit and root tests: headers that many of them include, and that take long.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "proto/csi.grpc.pb.h"
#include "proto/link.grpc.pb.h"
#include "support/outcome.h"
