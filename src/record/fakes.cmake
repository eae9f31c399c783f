# Vendors' libraries that tests open as a user's program opens the real ones: each is driven by the
# script that an environment variable names, see its source.
if(ERGOMETER_TESTS)
  function(ergometer_fake_library name source)
    add_library(${name} MODULE ${source})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${name} PRIVATE ${ARGN})
  endfunction()
  target_link_libraries(ergometer_record_tests PUBLIC GTest::gmock)
  ergometer_fake_library(ergometer_fake_amd_smi amd/fake_amd_smi.cpp)
  ergometer_fake_library(ergometer_fake_rocm_smi amd/fake_rocm_smi.cpp)
  ergometer_fake_library(ergometer_fake_nvml nvml/fake_nvml.cpp)
  ergometer_fake_library(ergometer_fake_nvml_old nvml/fake_nvml.cpp ERGOMETER_OLD_DRIVER)
  # So that LD_LIBRARY_PATH alone puts it in NVML's place.
  set_target_properties(ergometer_fake_nvml PROPERTIES
    OUTPUT_NAME nvidia-ml SUFFIX .so.1 LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake)
  foreach(fake amd_smi nvml nvml_old rocm_smi)
    string(TOUPPER ${fake} upper)
    add_dependencies(test_record ergometer_fake_${fake})
    target_compile_definitions(ergometer_record_tests PRIVATE
      ERGOMETER_FAKE_${upper}="$<TARGET_FILE:ergometer_fake_${fake}>")
  endforeach()
endif()
