# ergometer_embed_page(OUTPUT_VARIABLE FILE SYMBOL HEADER)
#
# Puts a page, one file, into the program as it is: writes one small .cpp that pulls it in with the assembler's .incbin
# and names it in OUTPUT_VARIABLE. It stands from SYMBOL to SYMBOL_end, which HEADER declares. No Node is needed for it.
function(ergometer_embed_page output_variable file symbol header)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/page_data.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [[
#include "@header@"

__asm__(
    ".section .rodata.@symbol@,\"a\",%progbits\n"
    ".global @symbol@\n"
    "@symbol@: .incbin \"@file@\"\n"
    ".global @symbol@_end\n"
    "@symbol@_end: .byte 0\n"
    ".text\n");
]])
  # By itself, so that a changed file compiles nothing else again.
  set_source_files_properties(${generated} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON OBJECT_DEPENDS ${file})
  set(${output_variable} ${generated} PARENT_SCOPE)
endfunction()
