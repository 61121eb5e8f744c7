// SPDX-License-Identifier: Apache-2.0
// A text table, whose columns are as wide as their widest cell.
#pragma once

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

}  // namespace holdfast::cli
