// SPDX-License-Identifier: Apache-2.0
#include "common/options.h"

#include <CLI/CLI.hpp>

namespace bench {

Options ParseOptions(int argc, char** argv) {
  Options options;
  bool thin = false;
  std::int64_t size_mib = 64;
  std::int64_t fill_mib = 0;
  CLI::App app("One side of the benchmark; bench/run calls it");
  app.add_option("scenario", options.scenario)->required();
  app.add_option("--directory", options.directory)->required();
  app.add_option("--socket", options.socket);
  app.add_option("--filesystem", options.filesystem);
  app.add_option("--prefix", options.prefix);
  app.add_flag("--block", options.block);
  app.add_flag("--thin", thin);
  app.add_flag("--guarded", options.guarded);
  app.add_option("--size-mib", size_mib);
  app.add_option("--volumes", options.volumes);
  app.add_option("--workers", options.workers)->check(CLI::PositiveNumber);
  app.add_option("--page", options.page);
  app.add_option("--sector-size", options.sector_size);
  app.add_option("--fill-mib", fill_mib);
  app.parse(argc, argv);
  options.thick = !thin;
  options.size = size_mib << 20;
  options.fill = fill_mib << 20;
  return options;
}

}  // namespace bench
