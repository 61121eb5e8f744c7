# Debian 12 packages; docs/dependencies.md says what each is for.
#
# What has a static archive is linked statically: shared libraries cost memory for their tables and
# tie the binary to one distribution's versions. libmount and fmt come as shared libraries only.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost 1.74 REQUIRED)  # its headers alone
find_path(YAML_CPP_INCLUDE_DIR yaml-cpp/yaml.h REQUIRED)
find_path(RADOS_INCLUDE_DIR rados/librados.h REQUIRED)
find_path(RBD_INCLUDE_DIR rbd/librbd.h REQUIRED)
pkg_check_modules(MOUNT REQUIRED IMPORTED_TARGET mount)
pkg_check_modules(BLKID REQUIRED IMPORTED_TARGET blkid)
pkg_check_modules(JOSE REQUIRED IMPORTED_TARGET jose)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)

# static_archives(NAME LIBRARIES...): interface target NAME with those lib*.a that exist; pkg-config's
# lists also name system libraries that have none.
function(static_archives name)
  set(archives "")
  foreach(library ${ARGN})
    find_library(archive_${library} NAMES lib${library}.a)
    if(archive_${library})
      list(APPEND archives ${archive_${library}})
    endif()
  endforeach()
  # A static archive comes after everything that needs it: of several places the last one counts.
  list(REVERSE archives)
  list(REMOVE_DUPLICATES archives)
  list(REVERSE archives)
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE ${archives} Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

pkg_check_modules(ABSL REQUIRED absl_statusor absl_flat_hash_map)
static_archives(absl_static ${ABSL_STATIC_LIBRARIES})
# With TLS, for the link. OpenSSL itself is shared: its security fixes must not wait for a rebuild.
pkg_check_modules(GRPC REQUIRED grpc++ protobuf)
list(FILTER GRPC_STATIC_LIBRARIES EXCLUDE REGEX "^(ssl|crypto)$")
static_archives(grpc_static ${GRPC_STATIC_LIBRARIES} upb re2 cares address_sorting z)
find_package(OpenSSL REQUIRED)
target_link_libraries(grpc_static INTERFACE OpenSSL::SSL OpenSSL::Crypto)
static_archives(core_static uuid yaml-cpp)
static_archives(cap_static cap)
static_archives(zlib_static z)
static_archives(xxhash_static xxhash)
static_archives(ext2fs_static ext2fs com_err)
