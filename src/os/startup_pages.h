// SPDX-License-Identifier: Apache-2.0
// Frees memory that only the start of the process needed.
#pragma once

namespace holdfast::os {

// Unmaps the pages of the program and its libraries that hold code or constants: most of them were
// used only by initialisation. Pages that are needed again come back from the page cache, without a
// read. Call once, when the process is ready. Thread-safe.
void ReleaseStartupPages();

}  // namespace holdfast::os
