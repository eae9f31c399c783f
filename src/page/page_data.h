#pragma once

// The page's file as it is, made by cmake/embed_page.cmake.
extern "C" {
extern const char ergometer_page[], ergometer_page_end[];
}
