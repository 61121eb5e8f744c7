// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_objects.h"

#include <absl/strings/str_replace.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cli/audit_item.h"
#include "cli/audit_stream.h"
#include "core/message_text.h"

namespace holdfast::cli {
namespace {

constexpr char kListRemedy[] = "give it what `kubectl get pv -o json` prints";
// A PersistentVolume has 12 levels.
constexpr std::size_t kMostLevels = 64;

std::string_view Words(JsonType type) {
  if (type == JsonType::kText) return "a text";
  return type == JsonType::kObject ? "an object" : "an array";
}

std::string Named(const std::string& name_space, const std::string& name) {
  return name.empty() ? "" : name_space + "/" + name;
}

// Follows the document, and keeps what Fields names.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  // INVALID_ARGUMENT as ParseKubernetesObjects; after the whole document.
  [[nodiscard]] absl::StatusOr<KubernetesObjects> Take();
  // What is wrong with what the JSON says; OK if it is no JSON at all from `stopped_at` on.
  [[nodiscard]] const absl::Status& status() const { return status_; }
  [[nodiscard]] std::size_t stopped_at() const { return stopped_at_; }
  // The document has ended, whatever follows.
  [[nodiscard]] bool ended() const { return ended_; }

  bool null() override {
    Enter();
    if (path_ == "/items") has_items_ = true;  // an empty list, as Go may write it
    return path_ == kItemPlace ? Refuse(JsonType::kObject) : true;
  }
  bool boolean(bool) override { return Scalar(); }
  bool number_integer(number_integer_t) override { return Scalar(); }
  bool number_unsigned(number_unsigned_t) override { return Scalar(); }
  bool number_float(number_float_t, const string_t&) override { return Scalar(); }
  bool binary(binary_t&) override { return Scalar(); }
  bool string(string_t& value) override;
  bool start_object(std::size_t) override { return Open(JsonType::kObject); }
  bool end_object() override;
  bool start_array(std::size_t) override { return Open(JsonType::kArray); }
  bool end_array() override {
    levels_.pop_back();
    return true;
  }
  bool key(string_t& value) override;
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    stopped_at_ = position;
    return false;
  }

 private:
  struct Level {
    std::size_t path = 0;  // length of the path of the object or array
    bool is_array = false;
  };

  void Enter();
  bool Open(JsonType type);
  bool Scalar();
  bool Refuse(JsonType wanted);
  // Ends the parsing.
  bool Fail(absl::Status status) {
    status_ = std::move(status);
    return false;
  }
  [[nodiscard]] std::string ItemText() const;
  bool EndItem();
  bool AddVolume();
  bool AddContent();
  bool AddPod();
  void EndPodVolume();
  void EndExpression();

  KubernetesObjects objects_;
  absl::Status status_;
  std::size_t stopped_at_ = 0;
  bool ended_ = false;
  std::string path_;
  std::vector<Level> levels_;
  std::string kind_;  // of the document
  std::string page_;
  std::string foreign_kind_;  // the first of an item
  std::size_t items_ = 0;
  bool has_items_ = false;
  std::size_t without_kind_ = 0;
  AuditItem item_;
};

// The path of an array's next entry; a key has already set that of an object's.
void Reader::Enter() {
  if (levels_.empty() || !levels_.back().is_array) return;
  path_.resize(levels_.back().path);
  path_ += "/*";
}

bool Reader::key(string_t& value) {
  path_.resize(levels_.back().path);
  path_ += '/';
  // No key that is asked for has one of these; another one must not look like several levels.
  path_ += value == "*" || value.find('/') != std::string::npos ? "?" : value;
  return true;
}

bool Reader::Refuse(JsonType wanted) {
  std::string place(path_);
  if (path_.starts_with(kItemPlace)) place.erase(0, kItemPlace.size());
  place = absl::StrReplaceAll(place, {{"/*", "[]"}, {"/", "."}});
  if (place.starts_with('.')) place.erase(0, 1);
  return Fail(InvalidArgument("{}{} is not {}", path_.starts_with(kItemPlace) ? ItemText() : "",
                              place.empty() ? "it" : place, Words(wanted)));
}

bool Reader::Open(JsonType type) {
  Enter();
  const ItemField* const field = FieldAt(path_);
  if (field != nullptr && field->type != type) return Refuse(field->type);
  if (levels_.size() == kMostLevels) {
    return Fail(
        InvalidArgument("it is nested more than {} levels deep; {}", kMostLevels, kListRemedy));
  }
  if (path_ == "/items") has_items_ = true;
  if (path_ == kItemPlace) item_ = AuditItem{};
  if (path_ == kTermPlace) item_.node_terms.emplace_back();
  if (path_ == kEphemeralPlace) item_.volume_is_ephemeral = true;
  levels_.push_back({.path = path_.size(), .is_array = type == JsonType::kArray});
  return true;
}

bool Reader::Scalar() {
  Enter();
  const ItemField* const field = FieldAt(path_);
  return field == nullptr || Refuse(field->type);
}

bool Reader::string(string_t& value) {
  Enter();
  const ItemField* const field = FieldAt(path_);
  if (field == nullptr) return true;
  if (field->type != JsonType::kText) return Refuse(field->type);
  if (field->text != nullptr) item_.*field->text = std::move(value);
  if (path_ == kValuePlace) item_.values.push_back(std::move(value));
  if (path_ == "/kind") kind_ = std::move(value);
  if (path_ == "/metadata/continue") page_ = std::move(value);
  return true;
}

bool Reader::end_object() {
  path_.resize(levels_.back().path);
  levels_.pop_back();
  ended_ = levels_.empty();
  if (path_ == kExpressionPlace) EndExpression();
  if (path_ == kPodVolumePlace) EndPodVolume();
  return path_ == kItemPlace ? EndItem() : true;
}

void Reader::EndExpression() {
  if (item_.comparison == "In" && !item_.node_terms.empty()) {
    item_.node_terms.back().push_back({item_.key, item_.values});
  }
  item_.key.clear();
  item_.comparison.clear();
  item_.values.clear();
}

// The claim of an ephemeral volume has the name of the pod before its own (KEP 1698); the pod's
// name may come later.
void Reader::EndPodVolume() {
  if (!item_.volume_claim.empty()) item_.claims.push_back(item_.volume_claim);
  if (item_.volume_is_ephemeral) item_.claims.push_back("-" + item_.volume_name);
  item_.volume_name.clear();
  item_.volume_claim.clear();
  item_.volume_is_ephemeral = false;
}

std::string Reader::ItemText() const {
  if (item_.name.empty()) return fmt::format("entry {} of the list: ", items_ + 1);
  return fmt::format("'{}': ", MessageText(item_.name));
}

bool Reader::EndItem() {
  bool taken = true;
  if (item_.kind.empty()) ++without_kind_;
  // The items of a PersistentVolumeList have no kind of their own, and that of the list comes last.
  if (IsPersistentVolume(item_) || item_.kind.empty()) {
    taken = AddVolume();
  } else if (IsSnapshotContent(item_)) {
    taken = AddContent();
  } else if (IsPod(item_)) {
    taken = AddPod();
  } else if (foreign_kind_.empty()) {
    foreign_kind_ = item_.kind;
  }
  ++items_;
  return taken;
}

bool Reader::AddVolume() {
  if (item_.name.empty()) {
    return Fail(InvalidArgument("{}metadata.name is missing", ItemText()));
  }
  if (!item_.csi_driver.empty() && item_.csi_handle.empty()) {
    return Fail(InvalidArgument("{}spec.csi.volumeHandle is missing", ItemText()));
  }
  if (item_.csi_driver.empty() && !item_.csi_handle.empty()) {
    return Fail(InvalidArgument("{}spec.csi.driver is missing", ItemText()));
  }
  objects_.volumes.push_back({.name = std::move(item_.name),
                              .driver = std::move(item_.csi_driver),
                              .handle = std::move(item_.csi_handle),
                              .capacity = std::move(item_.capacity),
                              .claim = Named(item_.claim_namespace, item_.claim_name),
                              .node_terms = std::move(item_.node_terms),
                              .is_retained = item_.reclaim_policy == "Retain",
                              .being_deleted = !item_.deleted_at.empty()});
  return true;
}

bool Reader::AddContent() {
  if (item_.name.empty() || item_.content_driver.empty()) {
    return Fail(InvalidArgument("{}{} is missing", ItemText(),
                                item_.name.empty() ? "metadata.name" : "spec.driver"));
  }
  objects_.contents.push_back(
      {.name = std::move(item_.name),
       .driver = std::move(item_.content_driver),
       .handle = std::move(item_.made_handle.empty() ? item_.given_handle : item_.made_handle),
       .snapshot = Named(item_.snapshot_namespace, item_.snapshot_name),
       .being_deleted = !item_.deleted_at.empty()});
  return true;
}

bool Reader::AddPod() {
  if (item_.name.empty() || item_.name_space.empty()) {
    return Fail(InvalidArgument("{}metadata.{} is missing", ItemText(),
                                item_.name.empty() ? "name" : "namespace"));
  }
  Pod pod{.name = Named(item_.name_space, item_.name), .node = std::move(item_.node)};
  for (const std::string& claim : item_.claims) {
    pod.claims.push_back(
        Named(item_.name_space, claim.starts_with('-') ? item_.name + claim : claim));
  }
  objects_.pods.push_back(std::move(pod));
  if (foreign_kind_.empty()) foreign_kind_ = item_.kind;
  return true;
}

absl::StatusOr<KubernetesObjects> Reader::Take() {
  if (kind_ == "PersistentVolume") {
    return InvalidArgument("it is one PersistentVolume, not the list of all; {}", kListRemedy);
  }
  if (kind_ != "List" && kind_ != "PersistentVolumeList") {
    return InvalidArgument("it is not a list of PersistentVolumes, but {}; {}",
                           kind_.empty() ? "has no kind" : MessageText(kind_), kListRemedy);
  }
  if (!has_items_) return InvalidArgument("it has no items; {}", kListRemedy);
  if (!page_.empty()) {
    return InvalidArgument("it is one page of a longer list (metadata.continue); {}", kListRemedy);
  }
  if (kind_ == "List" && without_kind_ > 0) {
    return InvalidArgument("{} of its items have no kind; {}", without_kind_, kListRemedy);
  }
  if (objects_.volumes.empty() && items_ > 0) {
    const bool contents = foreign_kind_.empty();
    return InvalidArgument("it has no PersistentVolumes, but {} objects{}; {}", items_,
                           contents ? " of kind VolumeSnapshotContent"
                                    : fmt::format(", such as a {}", MessageText(foreign_kind_)),
                           kListRemedy);
  }
  return std::move(objects_);
}

}  // namespace

absl::StatusOr<KubernetesObjects> ParseKubernetesObjects(std::istream& input) {
  if ((input >> std::ws).peek() == std::istream::traits_type::eof()) {
    return InvalidArgument("it is empty: did kubectl print an error instead?");
  }
  Reader reader;
  const bool whole = nlohmann::json::sax_parse(input, &reader);
  if (whole) return reader.Take();
  if (!reader.status().ok()) return reader.status();
  if (!reader.ended() && input.peek() == std::istream::traits_type::eof()) {
    return InvalidArgument("it ends in the middle: was the command that prints it interrupted?");
  }
  return InvalidArgument("it is not JSON from byte {} on; {}", reader.stopped_at(), kListRemedy);
}

absl::StatusOr<KubernetesObjects> ReadKubernetesObjects(const std::string& path) {
  const auto name = [&](const absl::Status& problem) {
    return Annotate(problem, path == "-" ? "standard input" : fmt::format("'{}'", path));
  };
  auto opened = BoundedInput::Open(path);
  if (!opened.ok()) return name(opened.status());
  std::istream input(&*opened);
  auto objects = ParseKubernetesObjects(input);
  if (!opened->status().ok()) return name(opened->status());
  if (!objects.ok()) return name(objects.status());
  return objects;
}

}  // namespace holdfast::cli
