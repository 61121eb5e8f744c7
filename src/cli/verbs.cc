// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.h"

namespace holdfast::cli {
namespace {

VerbFlag FlagOf(const CLI::Option& option) {
  const bool takes_value = option.get_items_expected_max() > 0;
  return {.name = "--" + option.get_lnames().front(),
          .value = takes_value ? option.get_type_name() : "",
          .help = option.get_description(),
          .default_value = takes_value ? option.get_default_str() : "",
          .environment = option.get_envname()};
}

}  // namespace

std::vector<Verb> VerbsOf(const CLI::App& app) {
  std::vector<Verb> verbs;
  for (const CLI::App* const command : app.get_subcommands(nullptr)) {
    Verb verb{.name = command->get_name(),
              .help = command->get_description(),
              .arguments = {},
              .flags = {},
              .footer = command->get_footer()};
    for (const CLI::Option* const option : command->get_options()) {
      if (option->get_lnames().empty()) {
        verb.arguments += (verb.arguments.empty() ? "" : " ") + option->get_name();
      } else {
        verb.flags.push_back(FlagOf(*option));
      }
    }
    verbs.push_back(std::move(verb));
  }
  return verbs;
}

}  // namespace holdfast::cli
