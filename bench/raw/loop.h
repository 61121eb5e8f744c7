// SPDX-License-Identifier: Apache-2.0
// Loop devices by their ioctls (drivers/block/loop.c).
#pragma once

#include <string>

namespace bench {

// Binds a free loop device with sectors of that size to the image, with direct I/O; returns its
// number.
int AttachLoop(const std::string& image_path, int sector_size);

// Notifies the device that its image has grown.
void RefreshLoop(int number);

// Nothing may use the device.
void DetachLoop(int number);

std::string LoopPath(int number);

}  // namespace bench
