// SPDX-License-Identifier: Apache-2.0
#include "fs/mkfs_options.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace holdfast::fs {
namespace {

constexpr std::size_t kMaxText = 4096;
constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_%-";

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// No path, no list, no second option.
bool IsPlain(std::string_view value) {
  return !value.empty() && value.front() != '-' &&
         value.find_first_not_of(kPlain) == std::string_view::npos;
}

bool IsAllowedItem(const MkfsOption& option, std::string_view item) {
  if (option.form == MkfsOption::Form::kNames) return std::ranges::count(option.names, item) > 0;
  const std::size_t equals = item.find('=');
  return std::ranges::count(option.names, item.substr(0, equals)) > 0 &&
         (equals == std::string_view::npos || IsPlain(item.substr(equals + 1)));
}

absl::Status CheckArgument(std::string_view program, const MkfsOption& option,
                           const std::string& argument) {
  if (option.form == MkfsOption::Form::kValue) {
    if (IsPlain(argument)) return absl::OkStatus();
    return InvalidArgument("mkfsOptions: '{}' is not a value of option {} of {}", argument,
                           option.name, program);
  }
  for (const std::string& item : Split(argument, ',')) {
    if (IsAllowedItem(option, item)) continue;
    return InvalidArgument("mkfsOptions: '{}' is not allowed in option {} of {}; allowed: {}", item,
                           option.name, program, fmt::join(option.names, ", "));
  }
  return absl::OkStatus();
}

struct Word {
  const MkfsOption* option = nullptr;
  std::optional<std::string> attached;  // "4096" of "-b4096"
};

std::optional<std::string> AttachedArgument(const MkfsOption& option, std::string_view word) {
  if (option.form == MkfsOption::Form::kFlag || !word.starts_with(option.name)) return std::nullopt;
  std::string_view rest = word.substr(option.name.size());
  if (option.name.starts_with("--")) {
    if (!rest.starts_with('=')) return std::nullopt;
    rest.remove_prefix(1);
  }
  return std::string(rest);
}

Word Recognise(const std::vector<MkfsOption>& allowed, std::string_view word) {
  for (const MkfsOption& option : allowed) {
    if (word == option.name) return {.option = &option, .attached = std::nullopt};
    if (auto attached = AttachedArgument(option, word)) return {&option, std::move(attached)};
  }
  return {};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseMkfsWords(std::string_view program,
                                                        const std::string& text,
                                                        const std::vector<MkfsOption>& allowed) {
  if (text.size() > kMaxText) {
    return InvalidArgument("mkfsOptions: {} bytes are more than {}", text.size(), kMaxText);
  }
  std::vector<std::string> words = Split(text, ' ');
  std::erase(words, "");
  std::vector<std::string> arguments;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto [option, attached] = Recognise(allowed, words[i]);
    if (option == nullptr) {
      return InvalidArgument("mkfsOptions: '{}' is not an allowed option of {}", words[i], program);
    }
    if (!seen.insert(option->name).second) {
      return InvalidArgument("mkfsOptions: option '{}' of {} is given twice; join the arguments",
                             option->name, program);
    }
    arguments.emplace_back(option->name);
    if (option->form == MkfsOption::Form::kFlag) continue;
    if (!attached && i + 1 == words.size()) {
      return InvalidArgument("mkfsOptions: option '{}' of {} needs an argument", words[i], program);
    }
    arguments.push_back(attached ? *attached : words[++i]);
    RETURN_IF_ERROR(CheckArgument(program, *option, arguments.back()));
  }
  return arguments;
}

absl::Status RequireSizeOf(const std::vector<std::string>& arguments, std::string_view option,
                           std::string_view prefix, std::uint32_t least) {
  const auto found = std::ranges::find(arguments, option);
  if (found == arguments.end() || std::next(found) == arguments.end()) return absl::OkStatus();
  std::string_view text = *std::next(found);
  if (!text.starts_with(prefix)) return absl::OkStatus();
  text.remove_prefix(prefix.size());
  std::uint64_t size = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc()) return absl::OkStatus();
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  if (unit == "k") size *= 1024;
  if ((!unit.empty() && unit != "k") || size >= least) return absl::OkStatus();
  return InvalidArgument(
      "mkfsOptions: '{} {}' is less than {} bytes, the logical sector of this pool's disk", option,
      *std::next(found), least);
}

}  // namespace holdfast::fs
