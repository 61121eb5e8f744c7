// SPDX-License-Identifier: Apache-2.0
#include "controller/volume_requests.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "fs/filesystem.h"
#include "support/memory_pool.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace volume_requests_test {

using csi::v1::CreateVolumeRequest;
using csi::v1::VolumeCapability;
using Mode = VolumeCapability::AccessMode;

void AddMount(CreateVolumeRequest& request, const std::string& filesystem,
              Mode::Mode mode = Mode::SINGLE_NODE_WRITER) {
  auto& capability = *request.add_volume_capabilities();
  capability.mutable_mount()->set_fs_type(filesystem);
  capability.mutable_access_mode()->set_mode(mode);
}

void AddBlock(CreateVolumeRequest& request) {
  auto& capability = *request.add_volume_capabilities();
  capability.mutable_block();
  capability.mutable_access_mode()->set_mode(Mode::SINGLE_NODE_WRITER);
}

CreateVolumeRequest Ext4Request() {
  CreateVolumeRequest request;
  request.set_name("pvc-1");
  AddMount(request, "");
  return request;
}

struct Fixture {
  Fixture() {
    REQUIRE_OK(pools.Add(std::make_unique<test::MemoryPool>("default", "n1")));
    REQUIRE_OK(pools.Add(std::make_unique<test::MemoryPool>("bulk", "n1")));
  }
  absl::StatusOr<CreateRequest> Parse(const CreateVolumeRequest& request) const {
    return ParseCreateRequest(request, pools);
  }
  template <typename Change>
  absl::StatusOr<CreateRequest> With(Change change) const {
    CreateVolumeRequest request = Ext4Request();
    change(request);
    return Parse(request);
  }
  pool::Pools pools;
};

TEST_CASE_METHOD(Fixture, "the least that can be asked gets the pool's defaults") {
  const CreateRequest create = test::Value(Parse(Ext4Request()));
  CHECK(create.pool->info().name == "default");
  CHECK(create.spec.name == "pvc-1");
  CHECK(create.spec.filesystem == "ext4");
  CHECK(create.spec.minimum_bytes == fs::FindFilesystem("ext4")->min_size());
  CHECK(create.spec.provisioning == Provisioning::kThick);
  CHECK(create.spec.access_type == AccessType::kMount);
  CHECK(create.spec.capacity.required == 0);
  CHECK(create.spec.capacity.limit == 0);
}

TEST_CASE_METHOD(Fixture, "everything that can be asked") {
  CreateVolumeRequest request;
  request.set_name("pvc-2");
  AddMount(request, "xfs", Mode::SINGLE_NODE_MULTI_WRITER);
  AddMount(request, "xfs", Mode::SINGLE_NODE_READER_ONLY);
  request.mutable_capacity_range()->set_required_bytes(kGiB);
  request.mutable_capacity_range()->set_limit_bytes(2 * kGiB);
  (*request.mutable_parameters())["pool"] = "bulk";
  (*request.mutable_parameters())["provisioning"] = "thin";
  (*request.mutable_parameters())["csi.storage.k8s.io/pv/name"] = "pv";
  const CreateRequest create = test::Value(Parse(request));
  CHECK(create.pool->info().name == "bulk");
  CHECK(create.spec.filesystem == "xfs");
  CHECK(create.spec.capacity.required == kGiB);
  CHECK(create.spec.capacity.limit == 2 * kGiB);
  CHECK(create.spec.provisioning == Provisioning::kThin);
  CHECK(create.spec.parameters ==
        std::map<std::string, std::string>{{"pool", "bulk"}, {"provisioning", "thin"}});
}

TEST_CASE_METHOD(Fixture, "a raw block volume has no filesystem") {
  CreateVolumeRequest request;
  request.set_name("pvc-3");
  AddBlock(request);
  const CreateRequest create = test::Value(Parse(request));
  CHECK(create.spec.access_type == AccessType::kBlock);
  CHECK(create.spec.filesystem.empty());
  CHECK(create.spec.minimum_bytes == kVolumeGranularity);
}

TEST_CASE_METHOD(Fixture, "options of mkfs become arguments") {
  const CreateRequest create =
      test::Value(With([](auto& r) { (*r.mutable_parameters())["mkfsOptions"] = "-m 0 -i 8192"; }));
  CHECK(create.spec.mkfs_options == std::vector<std::string>{"-m", "0", "-i", "8192"});
}

TEST_CASE_METHOD(Fixture, "a wrong request is refused, naming the field") {
  using R = CreateVolumeRequest;
  CHECK_FAILS(With([](R& r) { r.clear_name(); }), kInvalidArgument, "name is missing");
  CHECK_FAILS(With([](R& r) { r.set_name(std::string(129, 'x')); }), kInvalidArgument, "name is l");
  CHECK_FAILS(With([](R& r) { r.set_name("a\x01"); }), kInvalidArgument, "name holds");
  CHECK_FAILS(With([](R& r) { r.clear_volume_capabilities(); }), kInvalidArgument,
              "volume_capabilities is missing");
  CHECK_FAILS(With([](R& r) { r.add_volume_capabilities(); }), kInvalidArgument,
              "volume_capability.access_type");
  CHECK_FAILS(With([](R& r) { AddBlock(r); }), kInvalidArgument, "contradict each other");
  CHECK_FAILS(With([](R& r) { AddMount(r, "xfs"); }), kInvalidArgument, "contradict each other");
  CHECK_FAILS(With([](R& r) { AddMount(r, "", Mode::MULTI_NODE_MULTI_WRITER); }), kInvalidArgument,
              "MULTI_NODE_MULTI_WRITER");
  CHECK_FAILS(With([](R& r) { (*r.mutable_parameters())["x"] = std::string(4096, 'x'); }),
              kInvalidArgument, "parameters is larger");
  CHECK_FAILS(With([](R& r) { (*r.mutable_parameters())["x"] = "y"; }), kInvalidArgument, "'x'");
  CHECK_FAILS(With([](R& r) { (*r.mutable_parameters())["pool"] = "gone"; }), kInvalidArgument,
              "no pool 'gone'");
  CHECK_FAILS(With([](R& r) { (*r.mutable_parameters())["mkfsOptions"] = "-F"; }), kInvalidArgument,
              "-F");
  CHECK_FAILS(With([](R& r) { (*r.mutable_mutable_parameters())["x"] = "y"; }), kInvalidArgument,
              "mutable_parameters");
  CHECK_FAILS(With([](R& r) { r.mutable_volume_content_source()->mutable_snapshot(); }),
              kInvalidArgument, "volume_content_source");
  CHECK_FAILS(With([](R& r) { r.mutable_capacity_range(); }), kInvalidArgument, "capacity_range");
  CHECK_FAILS(With([](R& r) { r.mutable_capacity_range()->set_required_bytes(-1); }),
              kInvalidArgument, "capacity_range.required_bytes");
  CHECK_FAILS(With([](R& r) {
                r.mutable_capacity_range()->set_required_bytes(2);
                r.mutable_capacity_range()->set_limit_bytes(1);
              }),
              kOutOfRange, "capacity_range.limit_bytes");
}

TEST_CASE_METHOD(Fixture, "options of mkfs make no sense for raw block") {
  CreateVolumeRequest request;
  request.set_name("pvc-3");
  AddBlock(request);
  (*request.mutable_parameters())["mkfsOptions"] = "-m 0";
  CHECK_FAILS(Parse(request), kInvalidArgument, "mkfsOptions");
}

}  // namespace volume_requests_test
}  // namespace holdfast::controller
