# ergometer_embed_catalog(OUTPUT_VARIABLE)
#
# Puts every data file under catalog/ into the program: writes one small .cpp that pulls the files in with the
# assembler's .incbin (quick to compile at any size), and names it in OUTPUT_VARIABLE. A changed file recompiles
# it, a file that came or went configures again first.
function(ergometer_embed_catalog output_variable)
  set(root ${PROJECT_SOURCE_DIR}/catalog)
  set(entries "")
  set(assembly "")
  set(declarations "")
  set(files "")
  set(index 0)
  foreach(group "kModel models json" "kGpu gpus yaml" "kNode nodes yaml" "kCluster clusters yaml"
                "kKernels kernels yaml" "kPower power yaml" "kCooling cooling yaml"
                "kCollectives collectives yaml" "kSoftware software yaml" "kRecipe recipes yaml" "kStudy studies csv" "kStudy studies yaml" "kTable tables csv")
    separate_arguments(group)
    list(GET group 0 kind)
    list(GET group 1 folder)
    list(GET group 2 extension)
    file(GLOB found CONFIGURE_DEPENDS ${root}/${folder}/*.${extension})
    list(SORT found)
    foreach(file IN LISTS found)
      get_filename_component(name ${file} NAME_WLE)
      get_filename_component(file_name ${file} NAME)
      string(TOLOWER ${name} name)
      list(APPEND files ${file})
      string(APPEND assembly
        "    \"ergometer_catalog_${index}: .incbin \\\"${file}\\\"\\n\"\n"
        "    \"ergometer_catalog_${index}_end: .byte 0\\n\"\n")
      string(APPEND declarations
        "extern const char ergometer_catalog_${index}[], ergometer_catalog_${index}_end[];\n")
      string(APPEND entries
        "    {CatalogKind::${kind}, \"${name}\", \"catalog/${folder}/${file_name}\",\n"
        "     ergometer_catalog_${index}, ergometer_catalog_${index}_end},\n")
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/catalog_data.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [[
#include "spec/catalog/catalog_data.h"

__asm__(
    ".section .rodata.ergometer_catalog,\"a\",%progbits\n"
@assembly@    ".text\n");

extern "C" {
@declarations@}

namespace ergometer::spec {
namespace {

constexpr EmbeddedFile kFiles[] = {
@entries@    {CatalogKind::kStudy, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

std::span<const EmbeddedFile> embedded_files() { return {kFiles, std::size(kFiles) - 1}; }

}  // namespace ergometer::spec
]])
  # By itself, so that a changed file compiles nothing else again.
  set_source_files_properties(${generated} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON OBJECT_DEPENDS "${files}")
  set(${output_variable} ${generated} PARENT_SCOPE)
endfunction()
