#pragma once

/// The page at `/`, embedded as it is: live.html.
extern "C" const char ergometer_live_page[], ergometer_live_page_end[];
