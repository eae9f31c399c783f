# Read by ctest: one test for every tests/golden/AREA/CASE that holds a `cmd`.
file(GLOB cases RELATIVE ${GOLDEN_FOLDER} ${GOLDEN_FOLDER}/*/*/cmd)
foreach(case IN LISTS cases)
  string(REGEX REPLACE "/cmd$" "" case ${case})
  string(REPLACE "/" "." name ${case})
  add_test(golden.${name} ${GOLDEN_RUN} ${case})
  set_tests_properties(golden.${name} PROPERTIES TIMEOUT 120)
endforeach()
