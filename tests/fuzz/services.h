// SPDX-License-Identifier: Apache-2.0
// Precompiled for the fuzzer's build: headers that most files of the services include.
#pragma once

#include "layers.h"
#include "proto/csi.grpc.pb.h"
#include "proto/link.grpc.pb.h"
