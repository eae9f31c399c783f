# ergometer_embed_page(OUTPUT_VARIABLE FILE)
#
# Puts the report page, built beforehand into one file, into the program as it is: writes one small .cpp that pulls it in
# with the assembler's .incbin and names it in OUTPUT_VARIABLE. No Node is needed for it.
function(ergometer_embed_page output_variable file)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/page_data.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [[
#include "page/page_data.h"

__asm__(
    ".section .rodata.ergometer_page,\"a\",%progbits\n"
    ".global ergometer_page\n"
    "ergometer_page: .incbin \"@file@\"\n"
    ".global ergometer_page_end\n"
    "ergometer_page_end: .byte 0\n"
    ".text\n");
]])
  # By itself, so that a changed file compiles nothing else again.
  set_source_files_properties(${generated} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON OBJECT_DEPENDS ${file})
  set(${output_variable} ${generated} PARENT_SCOPE)
endfunction()
