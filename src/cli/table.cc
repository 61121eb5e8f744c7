// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>

namespace holdfast::cli {
namespace {

constexpr std::string_view kGap = "  ";

}  // namespace

void Table::AddRow(const std::vector<Cell>& cells) {
  std::vector<Cell> row;
  for (const Cell& cell : cells) {
    row.push_back({cell.text.empty() ? "-" : Printable(cell.text), cell.colour});
  }
  rows_.push_back(std::move(row));
}

std::string Table::Line(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                        bool colours) const {
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string padding(widths[i] - Width(cells[i].text), ' ');
    const std::string text = Paint(cells[i].text, cells[i].colour, colours);
    if (i > 0) line += kGap;
    line += columns_[i].right_aligned ? padding + text : text + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string Table::Text(bool colours) const {
  std::vector<Cell> titles;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back({columns_[i].title});
    std::size_t width = Width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, Width(row[i].text));
    widths.push_back(width);
  }
  std::string text = Line(titles, widths, colours);
  for (const auto& row : rows_) text += Line(row, widths, colours);
  return text;
}

}  // namespace holdfast::cli
