# ergometer_folder(NAME [HOT] SOURCES a.cpp ... [TESTS a_test.cpp ...] [LINKS other folders ...] [LIBRARIES external ...])
#
# The static library of one folder under src/, and its unit tests. All unit tests end in one program,
# `ergometer_tests`; `test_NAME` builds and holds one folder's alone.
#
# Many files are compiled at once (ERGOMETER_FILES_AT_ONCE): most of the work on one file is reading its headers, and what
# they instantiate. Names must therefore differ within a folder, in unnamed namespaces too. Forty take three quarters of the
# time of ten, and a compiler up to a gigabyte.
#
# HOT: answers wait for its loops, so a release optimises it as far as the compiler can (-O3). The other folders read and
# write what people do, once; optimising is two thirds of compiling them, so a release does it only in part (-O1), and
# sanitized programs, but for the fuzzers, not at all. Where a build's time goes: CONTRIBUTING.md.
function(ergometer_folder name)
  cmake_parse_arguments(FOLDER "HOT" "" "SOURCES;TESTS;LINKS;LIBRARIES" ${ARGN})
  add_library(ergometer_${name} STATIC ${FOLDER_SOURCES})
  ergometer_unity(ergometer_${name})
  # libergometer.so is made of the same objects, and exports only what its header says.
  set_target_properties(ergometer_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  if(NOT FOLDER_HOT AND NOT ERGOMETER_FUZZ)
    target_compile_options(ergometer_${name} PRIVATE $<IF:$<CONFIG:Release>,-O1,-O0>)
  endif()
  target_include_directories(ergometer_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM FOLDER_LINKS PREPEND ergometer_)
  ergometer_or_archives(fmt fmt::fmt)
  ergometer_or_archives(libraries ${FOLDER_LIBRARIES})
  target_link_libraries(ergometer_${name} PUBLIC ${FOLDER_LINKS} tl::expected ${fmt} PRIVATE ${libraries})
  file(GLOB_RECURSE tests RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *_test.cpp)
  file(READ CMakeLists.txt listed)
  foreach(test ${tests})
    string(FIND "${listed}" "${test}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt: ${test} is a test that nobody builds; list it under TESTS")
    endif()
  endforeach()
  if(ERGOMETER_TESTS AND FOLDER_TESTS)
    add_library(ergometer_${name}_tests OBJECT EXCLUDE_FROM_ALL ${FOLDER_TESTS})
    ergometer_unity(ergometer_${name}_tests)
    target_link_libraries(ergometer_${name}_tests PUBLIC ergometer_${name} GTest::gtest ${FOLDER_LIBRARIES})
    target_compile_definitions(ergometer_${name}_tests PRIVATE
      ERGOMETER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    # Tests spend their time in what they test, which is optimised; optimising them is a third of compiling them.
    target_compile_options(ergometer_${name}_tests PRIVATE -O0)
    if(ERGOMETER_SANITIZE)
      # What is checked is the code under test.
      target_compile_options(ergometer_${name}_tests PRIVATE -fno-sanitize=undefined)
    endif()
    add_executable(test_${name} EXCLUDE_FROM_ALL)
    target_link_libraries(test_${name} PRIVATE ergometer_${name}_tests GTest::gtest_main)
    set_property(GLOBAL APPEND PROPERTY ERGOMETER_TEST_FOLDERS ergometer_${name}_tests)
  endif()
endfunction()

# Libraries as they are found, and for a program that is to be one file (its property ERGOMETER_ONE_FILE) their archives:
# Debian's, and those of scripts/archives.sh.
set(ERGOMETER_ARCHIVES_OF_fmt::fmt fmt)
set(ERGOMETER_ARCHIVES_OF_OpenSSL::SSL ssl crypto)
set(ERGOMETER_ARCHIVES_OF_PkgConfig::httplib cpp-httplib ssl crypto brotlidec brotlienc brotlicommon z)
set(ERGOMETER_ARCHIVES_OF_protobuf::libprotobuf-lite protobuf-lite)
set(ERGOMETER_ARCHIVES_OF_pugixml::pugixml pugixml)
set(ERGOMETER_ARCHIVES_OF_simdjson::simdjson simdjson)
set(ERGOMETER_ARCHIVES_OF_SQLite::SQLite3 sqlite3)
set(ERGOMETER_ARCHIVES_OF_yaml-cpp yaml-cpp)
set(ERGOMETER_ARCHIVES_OF_ZLIB::ZLIB z)
set(ERGOMETER_ARCHIVES_OF_zstd::libzstd_shared zstd)
function(ergometer_or_archives result)
  set(one_file $<BOOL:$<TARGET_PROPERTY:ERGOMETER_ONE_FILE>>)
  set(all "")
  foreach(library ${ARGN})
    if(DEFINED ERGOMETER_ARCHIVES_OF_${library})
      list(APPEND all $<$<NOT:${one_file}>:${library}>)
      foreach(archive ${ERGOMETER_ARCHIVES_OF_${library}})
        list(APPEND all $<${one_file}:-l:lib${archive}.a>)
      endforeach()
    else()
      list(APPEND all ${library})
    endif()
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

# ergometer_part(NAME SOURCES a.cpp ... LINKS folder)
#
# A part of the program in a file of its own, which it loads when needed (src/base/program_part.h): lib/ergometer/NAME.so.
function(ergometer_part name)
  cmake_parse_arguments(PART "" "" "SOURCES;LINKS" ${ARGN})
  add_library(ergometer_part_${name} MODULE ${PART_SOURCES})
  target_link_libraries(ergometer_part_${name} PRIVATE ergometer_${PART_LINKS})
  # Of what is linked in, only what the sources export is seen from outside.
  target_link_options(ergometer_part_${name} PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL)
  set_target_properties(ergometer_part_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/ergometer)
endfunction()

function(ergometer_unity target)
  if(NOT ERGOMETER_FILES_AT_ONCE EQUAL 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ERGOMETER_FILES_AT_ONCE})
  endif()
endfunction()

function(ergometer_unit_tests)
  get_property(folders GLOBAL PROPERTY ERGOMETER_TEST_FOLDERS)
  add_executable(ergometer_tests)
  target_link_libraries(ergometer_tests PRIVATE ${folders} GTest::gtest_main)
  ergometer_unit_shards(unit ergometer_tests)
endfunction()

# The unit tests in a program, in parts that run beside each other: a process a test would take longer than the tests.
function(ergometer_unit_shards name program)
  set(count 8)
  math(EXPR last "${count} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.${shard} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${name}.${shard} PROPERTIES TIMEOUT 1200 COST 400
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()
