// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using nlohmann::ordered_json;

ordered_json Strings(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  ordered_json values = ordered_json::array();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    values.push_back(reflection.GetRepeatedString(message, &field, i));
  }
  return values;
}

ordered_json Value(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return Strings(message, field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    default:
      return reflection.GetString(message, &field);
  }
}

ordered_json Array(const Message& response, const std::string& field_name) {
  const FieldDescriptor* const entries = response.GetDescriptor()->FindFieldByName(field_name);
  const google::protobuf::Reflection& reflection = *response.GetReflection();
  ordered_json array = ordered_json::array();
  for (int i = 0; i < reflection.FieldSize(response, entries); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(response, entries, i);
    ordered_json object = ordered_json::object();
    for (int k = 0; k < entry.GetDescriptor()->field_count(); ++k) {
      const FieldDescriptor& field = *entry.GetDescriptor()->field(k);
      object[field.name()] = Value(entry, field);
    }
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace

std::string AsJson(const Message& response, const std::vector<std::string>& field_names) {
  ordered_json object = ordered_json::object();
  for (const std::string& name : field_names) object[name] = Array(response, name);
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::cli
