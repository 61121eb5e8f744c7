// SPDX-License-Identifier: Apache-2.0
#include "rbd/omap.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace holdfast::rbd {
namespace {

constexpr char kClass[] = "rbd";
constexpr std::size_t kLongestAnswer = 255;
constexpr std::size_t kPrefixPage = 500;  // pairs of one read

using Pairs = std::map<std::string, std::string>;
using ReadOperation = std::unique_ptr<void, void (*)(rados_read_op_t)>;
using WriteOperation = std::unique_ptr<void, void (*)(rados_write_op_t)>;

// Where a class writes its answer.
struct Answer {
  std::array<char, kLongestAnswer> bytes{};
  std::size_t length = 0;
  int result = 0;
};

// The C interface takes arrays of pointers and of lengths.
struct Texts {
  void Add(const std::string& text) {
    pointers.push_back(text.data());
    lengths.push_back(text.size());
  }
  std::vector<const char*> pointers;
  std::vector<std::size_t> lengths;
};

Pairs Take(const CephLibrary& library, rados_omap_iter_t iterator) {
  Pairs pairs;
  while (true) {
    char* key = nullptr;
    char* value = nullptr;
    std::size_t key_size = 0;
    std::size_t value_size = 0;
    if (library.rados_omap_get_next2(iterator, &key, &value, &key_size, &value_size) < 0) break;
    if (key == nullptr) break;
    pairs.emplace(std::string(key, key_size), std::string(value, value_size));
  }
  return pairs;
}

absl::StatusOr<Pairs> Operate(const CephPool& pool, const std::string& object,
                              const ReadOperation& operation, const rados_omap_iter_t& iterator) {
  const CephLibrary& library = pool.library();
  const CallResult read = pool.Try(fmt::format("read '{}'", object), [&] {
    return library.rados_read_op_operate(operation.get(), pool.io(), object.c_str(), 0);
  });
  // The iterator exists as soon as the operation is built, and must be ended; but it points
  // nowhere unless the operation was answered.
  Pairs pairs;
  if (read.status.ok()) pairs = Take(library, iterator);
  library.rados_omap_get_end(iterator);
  if (read.error != ENOENT) RETURN_IF_ERROR(read.status);
  return pairs;
}

// Up to `limit` pairs whose keys begin with `prefix` and come after `after`.
absl::StatusOr<Pairs> ReadPage(const CephPool& pool, const std::string& object,
                               const std::string& after, const std::string& prefix,
                               std::size_t limit, bool& more) {
  const CephLibrary& library = pool.library();
  const ReadOperation operation(library.rados_create_read_op(), library.rados_release_read_op);
  rados_omap_iter_t iterator = nullptr;
  unsigned char others = 0;
  int result = 0;
  library.rados_read_op_omap_get_vals2(operation.get(), after.c_str(), prefix.c_str(), limit,
                                       &iterator, &others, &result);
  auto pairs = Operate(pool, object, operation, iterator);
  more = others != 0;
  return pairs;
}

}  // namespace

absl::StatusOr<Pairs> ReadOmap(const CephPool& pool, const std::string& object,
                               const std::vector<std::string>& keys, std::span<ClassCall> calls) {
  const CephLibrary& library = pool.library();
  const ReadOperation operation(library.rados_create_read_op(), library.rados_release_read_op);
  std::vector<Answer> answers(calls.size());
  auto answer = answers.begin();
  for (const ClassCall& call : calls) {
    library.rados_read_op_exec_user_buf(operation.get(), kClass, call.method, call.input.data(),
                                        call.input.size(), answer->bytes.data(),
                                        answer->bytes.size(), &answer->length, &answer->result);
    ++answer;
  }
  Texts wanted;
  for (const std::string& key : keys) wanted.Add(key);
  rados_omap_iter_t iterator = nullptr;
  int result = 0;
  library.rados_read_op_omap_get_vals_by_keys2(operation.get(), wanted.pointers.data(), keys.size(),
                                               wanted.lengths.data(), &iterator, &result);
  auto pairs = Operate(pool, object, operation, iterator);
  answer = answers.begin();
  for (ClassCall& call : calls) {
    call.answer.assign(answer->bytes.data(), std::min(answer->length, kLongestAnswer));
    ++answer;
  }
  return pairs;
}

absl::StatusOr<Pairs> ListOmap(const CephPool& pool, const std::string& object,
                               const std::string& after, std::size_t limit, bool& more) {
  return ReadPage(pool, object, after, "", limit, more);
}

absl::StatusOr<Pairs> ReadOmapPrefix(const CephPool& pool, const std::string& object,
                                     const std::string& prefix) {
  Pairs pairs;
  for (bool more = true; more;) {
    const std::string after = pairs.empty() ? "" : pairs.rbegin()->first;
    ASSIGN_OR_RETURN(Pairs page, ReadPage(pool, object, after, prefix, kPrefixPage, more));
    if (page.empty()) break;
    pairs.merge(page);
  }
  return pairs;
}

CallResult ChangeOmap(const CephPool& pool, const std::string& object, const OmapChange& change,
                      const std::string& what) {
  const CephLibrary& library = pool.library();
  const WriteOperation operation(library.rados_create_write_op(), library.rados_release_write_op);
  if (change.must_exist) {
    library.rados_write_op_assert_exists(operation.get());
  } else {  // a guard of an object that is not there would fail as if its key were there
    library.rados_write_op_create(operation.get(), LIBRADOS_CREATE_IDEMPOTENT, nullptr);
  }
  std::vector<int> results(change.guards.size());
  auto result = results.begin();
  for (const auto& [key, value] : change.guards) {
    // A key that is missing compares as an empty value.
    library.rados_write_op_omap_cmp2(operation.get(), key.c_str(), LIBRADOS_CMPXATTR_OP_EQ,
                                     value.data(), key.size(), value.size(), &*result++);
  }
  int called = 0;
  if (change.call.method != nullptr) {
    const std::string& input = change.call.input;
    library.rados_write_op_exec(operation.get(), kClass, change.call.method, input.data(),
                                input.size(), &called);
  }
  Texts keys;
  Texts values;
  for (const auto& [key, value] : change.values) {
    keys.Add(key);
    values.Add(value);
  }
  if (!change.values.empty()) {
    library.rados_write_op_omap_set2(operation.get(), keys.pointers.data(), values.pointers.data(),
                                     keys.lengths.data(), values.lengths.data(),
                                     keys.pointers.size());
  }
  Texts removals;
  for (const std::string& key : change.removals) removals.Add(key);
  if (!change.removals.empty()) {
    library.rados_write_op_omap_rm_keys2(operation.get(), removals.pointers.data(),
                                         removals.lengths.data(), removals.pointers.size());
  }
  return pool.Try(what, [&] {
    return library.rados_write_op_operate2(operation.get(), pool.io(), object.c_str(), nullptr, 0);
  });
}

}  // namespace holdfast::rbd
