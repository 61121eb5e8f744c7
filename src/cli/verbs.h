// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line and their flags, as the parser has them: for what is made of them.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace holdfast::cli {

struct VerbFlag {
  std::string name;   // "--output"
  std::string value;  // "TEXT"; empty: it takes none
  std::string help;
  std::string default_value;  // empty: none
  std::string environment;    // a variable that sets it; empty: none
};

struct Verb {
  std::string name;
  std::string help;
  std::string arguments;  // that are no flags: "SHELL"
  std::vector<VerbFlag> flags;
  std::string footer;
};

// In the order of the help.
[[nodiscard]] std::vector<Verb> VerbsOf(const CLI::App& app);

}  // namespace holdfast::cli
