# How everything is compiled and linked.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(HOLDFAST_CCACHE ccache)
if(HOLDFAST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HOLDFAST_CCACHE})
endif()
add_library(holdfast_warnings INTERFACE)
# g++ is the compiler for which warnings are switched on. clang, for the fuzz preset, has other ones; but
# it alone checks locks (core/mutex.h).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(holdfast_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                                                     -Wold-style-cast -Wconversion -Werror)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_options(holdfast_warnings INTERFACE -Wthread-safety -Wno-deprecated-declarations
                                                     -Werror)
endif()

# Hardening: the binary runs as root, next to other users' data.
add_compile_options(-fstack-protector-strong -fno-plt)
# Packed relocations (glibc 2.36) take some memory off every process.
add_link_options(-Wl,-z,relro,-z,now,-z,pack-relative-relocs -Wl,--gc-sections)
add_compile_options(-ffunction-sections -fdata-sections)
if(HOLDFAST_SANITIZE)
  add_compile_options(-fsanitize=${HOLDFAST_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1)  # lines suffice, and compile faster
  if(HOLDFAST_SANITIZE_EXCEPT)
    add_compile_options(-fno-sanitize=${HOLDFAST_SANITIZE_EXCEPT})
  endif()
  add_link_options(-fsanitize=${HOLDFAST_SANITIZE})
else()
  add_compile_options($<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
