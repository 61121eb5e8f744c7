# Every suite of scripts/test as a ctest test with the suite's name as its label, in build/release,
# where scripts/test runs them. ctest builds nothing; 77 counts as skipped. A label is
# a pattern, so `ctest -L '^ceph$'`; `ctest -LE long` is what `scripts/test all` runs.
function(suite_tests)
  foreach(suite ${ARGN})
    add_test(NAME ${suite} COMMAND ${CMAKE_SOURCE_DIR}/scripts/test --suite ${suite})
    set_tests_properties(${suite} PROPERTIES LABELS ${suite} SKIP_RETURN_CODE 77 TIMEOUT 7200)
  endforeach()
endfunction()

# unit and root are programs of their own.
suite_tests(contract sanity cli controller data data-copies model kubelet crash hostile faults
            link link-copies ceph vm chart monitoring e2e tsan asan lint fuzz simulator)
suite_tests(ceph-all e2e-rbd dockerfile)
# They build in the same directories.
set_tests_properties(asan fuzz tsan PROPERTIES RESOURCE_LOCK compiler)
set_tests_properties(vm chart e2e PROPERTIES RESOURCE_LOCK guest)
foreach(suite ceph-all e2e-rbd dockerfile)
  set_tests_properties(${suite} PROPERTIES LABELS "${suite};long" RUN_SERIAL ON)
endforeach()

# Fails if a suite is missing above: a suite of scripts/test, or a folder with a program `run`.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/scripts/test)
file(STRINGS ${CMAKE_SOURCE_DIR}/scripts/test cases REGEX "^    [a-z0-9-]+\\)")
list(TRANSFORM cases REPLACE "^ +([a-z0-9-]+).*" "\\1")
file(GLOB runs RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS */run)
list(TRANSFORM runs REPLACE "/run$" "")
foreach(suite ${cases} ${runs})
  if(NOT TEST ${suite})
    message(FATAL_ERROR "tests/suites.cmake lacks the suite ${suite}")
  endif()
endforeach()
