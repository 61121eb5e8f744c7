// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_adoption.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "core/kubernetes_name.h"
#include "core/kubernetes_quantity.h"
#include "core/volume.h"

namespace holdfast::cli {
namespace {

using nlohmann::ordered_json;

// For each topology one term; a volume that every node reaches has none.
ordered_json NodeAffinity(const csi::v1::Volume& volume) {
  ordered_json terms = ordered_json::array();
  for (const csi::v1::Topology& topology : volume.accessible_topology()) {
    const std::map<std::string, std::string> segments(topology.segments().begin(),
                                                      topology.segments().end());
    ordered_json expressions = ordered_json::array();
    for (const auto& [key, value] : segments) {
      expressions.push_back(ordered_json{
          {"key", key}, {"operator", "In"}, {"values", ordered_json::array({value})}});
    }
    if (!expressions.empty()) {
      terms.push_back(ordered_json{{"matchExpressions", std::move(expressions)}});
    }
  }
  return terms;
}

class Adopter final {
 public:
  Adopter(const Audit& audit, const KubernetesObjects& objects, const AdoptionChoices& choices);

  // The PersistentVolume; an error says why there is none.
  [[nodiscard]] absl::StatusOr<ordered_json> ObjectFor(const admin::v1::Volume& volume,
                                                       const csi::v1::Volume& described);

 private:
  [[nodiscard]] absl::StatusOr<std::string> ClaimFor(const admin::v1::Volume& volume) const;
  [[nodiscard]] std::string ClaimOf(const admin::v1::Volume& volume) const;
  [[nodiscard]] std::string NameFor(const admin::v1::Volume& volume);

  const std::string& driver_;
  const AdoptionChoices& choices_;
  absl::flat_hash_set<std::string> names_;  // that PersistentVolumes have
  absl::flat_hash_map<std::string, std::string> taken_;  // PersistentVolumes by their claims
  // How many volumes are for each claim: by choice, which decides, or else by their records.
  absl::flat_hash_map<std::string, int> chosen_;
  absl::flat_hash_map<std::string, int> recorded_;
};

Adopter::Adopter(const Audit& audit, const KubernetesObjects& objects,
                 const AdoptionChoices& choices)
    : driver_(audit.driver), choices_(choices) {
  for (const PersistentVolume& object : objects.volumes) {
    names_.insert(object.name);
    if (!object.claim.empty()) taken_.emplace(object.claim, object.name);
  }
  for (const admin::v1::Volume* const volume : audit.without_pv) {
    auto& counted = choices.claims.contains(volume->id()) ? chosen_ : recorded_;
    ++counted[ClaimOf(*volume)];
  }
}

// The chosen one, or the recorded one.
std::string Adopter::ClaimOf(const admin::v1::Volume& volume) const {
  const auto chosen = choices_.claims.find(volume.id());
  if (chosen != choices_.claims.end()) return chosen->second;
  if (volume.claim().empty() || volume.kubernetes_namespace().empty()) return "";
  return volume.kubernetes_namespace() + "/" + volume.claim();
}

absl::StatusOr<std::string> Adopter::ClaimFor(const admin::v1::Volume& volume) const {
  const std::string claim = ClaimOf(volume);
  if (claim.empty()) {
    return NotFound("its claim is not recorded; give it by --claim={}=NAMESPACE/NAME", volume.id());
  }
  if (const auto taken = taken_.find(claim); taken != taken_.end()) {
    return AlreadyExists("its claim {} belongs to PersistentVolume '{}'", claim, taken->second);
  }
  const bool is_chosen = choices_.claims.contains(volume.id());
  if (!is_chosen && chosen_.contains(claim)) {
    return AlreadyExists("another volume was chosen for its claim {}", claim);
  }
  const int volumes = (is_chosen ? chosen_ : recorded_).at(claim);
  if (volumes > 1) {
    return AlreadyExists("{} volumes are for claim {}; choose one by --claim=ID={}", volumes, claim,
                         claim);
  }
  return claim;
}

std::string Adopter::NameFor(const admin::v1::Volume& volume) {
  for (const std::string& name : {volume.persistent_volume(), volume.name()}) {
    if (IsKubernetesName(name) && names_.insert(name).second) return name;
  }
  // A UUID that no other volume has.
  const std::string name = "holdfast-" + volume.id().substr(volume.id().rfind(':') + 1);
  names_.insert(name);
  return name;
}

absl::StatusOr<ordered_json> Adopter::ObjectFor(const admin::v1::Volume& volume,
                                                const csi::v1::Volume& described) {
  ASSIGN_OR_RETURN(const std::string claim, ClaimFor(volume));
  const std::size_t slash = claim.find('/');
  const bool is_block = volume.access_type() == ToString(AccessType::kBlock);
  ordered_json source = {{"driver", driver_}, {"volumeHandle", volume.id()}};
  if (!is_block) source["fsType"] = volume.filesystem();
  ordered_json spec = {
      {"capacity", {{"storage", FormatQuantity(described.capacity_bytes())}}},
      {"accessModes", ordered_json::array({choices_.access_mode})},
      {"volumeMode", is_block ? "Block" : "Filesystem"},
      {"persistentVolumeReclaimPolicy", "Retain"},
      {"claimRef", ordered_json{{"apiVersion", "v1"},
                                {"kind", "PersistentVolumeClaim"},
                                {"namespace", claim.substr(0, slash)},
                                {"name", claim.substr(slash + 1)}}},
      {"csi", std::move(source)}};
  if (!choices_.storage_class.empty()) spec["storageClassName"] = choices_.storage_class;
  if (ordered_json terms = NodeAffinity(described); !terms.empty()) {
    spec["nodeAffinity"] = {{"required", {{"nodeSelectorTerms", std::move(terms)}}}};
  }
  // By this annotation csi-provisioner knows a PersistentVolume as its own, should it be set to be
  // deleted with its claim later.
  return ordered_json{{"apiVersion", "v1"},
                      {"kind", "PersistentVolume"},
                      {"metadata",
                       {{"name", NameFor(volume)},
                        {"annotations", {{"pv.kubernetes.io/provisioned-by", driver_}}}}},
                      {"spec", std::move(spec)}};
}

absl::Status CheckChoices(const Audit& audit, const AdoptionChoices& choices) {
  absl::flat_hash_set<std::string> without;
  for (const admin::v1::Volume* const volume : audit.without_pv) without.insert(volume->id());
  for (const auto& [id, claim] : choices.claims) {
    if (without.contains(id)) continue;
    return InvalidArgument("--claim: '{}' is not a volume that lacks a PersistentVolume", id);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseClaims(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::string> claims;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string id = text.substr(0, equals);
    const std::string claim = equals == std::string::npos ? "" : text.substr(equals + 1);
    if (!VolumeId::Parse(id) || !IsNamespacedName(claim)) {
      return InvalidArgument("--claim: '{}' must be VOLUME_ID=NAMESPACE/NAME", text);
    }
    if (!claims.emplace(id, claim).second) {
      return InvalidArgument("--claim: '{}' comes twice", id);
    }
  }
  return claims;
}

absl::StatusOr<Adoption> Adopt(const Audit& audit, const KubernetesObjects& objects,
                               const AdoptionChoices& choices, Owners& owners) {
  RETURN_IF_ERROR(CheckChoices(audit, choices));
  Adopter adopter(audit, objects, choices);
  Adoption adoption;
  ordered_json items = ordered_json::array();
  for (const admin::v1::Volume* const volume : audit.without_pv) {
    const auto described = owners.GetVolume(volume->id());
    if (absl::IsUnimplemented(described.status())) {
      return InvalidArgument("--adopt: a node does not say from where its volumes are reached; ask "
                             "the controller");
    }
    auto object = described.ok() ? adopter.ObjectFor(*volume, *described)
                                 : absl::StatusOr<ordered_json>(described.status());
    if (object.ok()) {
      items.push_back(*std::move(object));
    } else {
      adoption.left_out.push_back(
          fmt::format("'{}': {}", volume->id(), MessageOf(object.status())));
    }
  }
  const ordered_json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
  adoption.list = list.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  return adoption;
}

}  // namespace holdfast::cli
