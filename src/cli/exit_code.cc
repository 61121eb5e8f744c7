// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/unknown_name.h"

namespace holdfast::cli {
namespace {

std::vector<std::string> FlagsOf(const CLI::App& verb) {
  std::vector<std::string> flags;
  for (const CLI::Option* const option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> VerbNames(const CLI::App& app) {
  std::vector<std::string> verbs;
  for (const CLI::App* const verb : app.get_subcommands(nullptr)) verbs.push_back(verb->get_name());
  return verbs;
}

// Not all flags: there may be dozens.
std::string UnknownFlag(std::string_view name, const std::vector<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  if (const auto closest = ClosestName(name, names)) {
    return fmt::format("unknown flag '{}'; did you mean '{}'?", name, *closest);
  }
  return fmt::format("unknown flag '{}'", name);
}

std::string UnknownVerb(std::string_view name, const std::vector<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  return MessageOf(UnknownName("verb", name, names));
}

// For a word that CLI11 did not expect.
std::string ExplainExtra(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  const std::string word = extras.empty() ? std::string() : extras.front();
  const CLI::App& verb = chosen.empty() ? app : *chosen.front();
  if (word.starts_with('-')) return UnknownFlag(word.substr(0, word.find('=')), FlagsOf(verb));
  if (chosen.empty()) return UnknownVerb(word, VerbNames(app));
  return fmt::format("unexpected word '{}': `holdfast {}` takes only flags", word, verb.get_name());
}

// "--role: 1 required ROLE missing" and "--role: At Most 1 required but received 2" of CLI11.
std::string ExplainCount(const std::string& error) {
  const std::string flag = error.substr(0, error.find(':'));
  if (error.ends_with(" missing")) return fmt::format("{} needs a value", flag);
  return fmt::format("{} may be given once", flag);
}

std::string Explain(const CLI::App& app, const CLI::ParseError& error) {
  // A word that is missing may be one that was not understood.
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      (is_missing && !app.remaining(/*recurse=*/true).empty())) {
    return ExplainExtra(app);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return ExplainCount(error.what());
  }
  return error.what();
}

}  // namespace

int ExitCode(const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << "holdfast: " << MessageOf(status) << "\n";
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
}

void UnderstandHelp(std::vector<std::string>& words) {
  if (words.empty()) return;
  if (words.front() == "version") words.front() = "--version";
  if (words.front() != "help") return;
  words.erase(words.begin());
  words.emplace_back("--help");
}

int ExplainUsage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  std::cerr << fmt::format("holdfast: {}\nRun `holdfast {}--help` for more.\n", Explain(app, error),
                           chosen.empty() ? "" : chosen.front()->get_name() + " ");
  return kExitUsage;
}

}  // namespace holdfast::cli
