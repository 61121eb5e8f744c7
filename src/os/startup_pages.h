// SPDX-License-Identifier: Apache-2.0
// Memory that only the start of the process needed.
#pragma once

namespace holdfast::os {

// Unmaps the pages of program and libraries that are code or constants: most of them were touched
// by initialisation alone. What is needed again comes back from the page cache, without a read.
// Call once, when the process is ready. Thread-safe.
void ReleaseStartupPages();

}  // namespace holdfast::os
