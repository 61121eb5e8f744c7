// SPDX-License-Identifier: Apache-2.0
// How verbs show lists: as a table for people, as JSON for scripts.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "cli/terminal.h"

namespace holdfast::cli {

struct Column {
  std::string title{};
  bool right_aligned = false;  // numbers
};

struct Cell {
  std::string text{};  // control characters are taken out when it is printed; empty shows as "-"
  Colour colour = Colour::kNone;
};

// A text table, whose columns are as wide as their widest cell.
class Table final {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column.
  void AddRow(const std::vector<Cell>& cells);

  // Title and rows, each ending with a newline.
  [[nodiscard]] std::string Text(bool colours) const;

 private:
  [[nodiscard]] std::string Line(const std::vector<Cell>& cells,
                                 const std::vector<std::size_t>& widths, bool colours) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// The repeated message fields of `response` with these names as an indented JSON object of arrays.
// Every field of every entry is there, under its name in the .proto file and in its order, empty
// ones too; integers are numbers (protobuf's own mapping makes 64-bit ones strings). Fields are of
// the kinds that proto/admin.proto has: string, int64, bool, and repeated string.
[[nodiscard]] std::string AsJson(const google::protobuf::Message& response,
                                 const std::vector<std::string>& field_names);

}  // namespace holdfast::cli
