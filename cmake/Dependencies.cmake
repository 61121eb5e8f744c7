# Debian 12 packages; docs/dependencies.md says what each is for.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(UUID REQUIRED IMPORTED_TARGET uuid)
pkg_check_modules(CAP REQUIRED IMPORTED_TARGET libcap)
pkg_check_modules(MOUNT REQUIRED IMPORTED_TARGET mount)
pkg_check_modules(BLKID REQUIRED IMPORTED_TARGET blkid)
pkg_check_modules(EXT2FS REQUIRED IMPORTED_TARGET ext2fs com_err)

# static_archives(NAME PREFIX MORE...): interface target NAME with every static archive that pkg-config
# lists for PREFIX, and MORE that it leaves out. Static, because the shared gRPC costs twice the memory and ties the binary to one
# distribution's versions.
function(static_archives name prefix)
  set(archives "")
  foreach(library ${${prefix}_STATIC_LIBRARIES} ${ARGN})
    find_library(archive_${library} NAMES lib${library}.a)
    if(archive_${library})
      list(APPEND archives ${archive_${library}})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES archives)
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE -Wl,--start-group ${archives} -Wl,--end-group
                                          Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

pkg_check_modules(ABSL REQUIRED absl_statusor)
static_archives(absl_static ABSL)
# gRPC without TLS: the CSI socket is a local file.
pkg_check_modules(GRPC REQUIRED grpc++_unsecure protobuf)
static_archives(grpc_static GRPC upb re2 cares address_sorting z)
