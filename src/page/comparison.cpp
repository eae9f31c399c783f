#include "page/comparison.h"

namespace ergometer::page {

// No attribution is known to this program: the page shows the two side by side.
void write_comparison(base::JsonWriter&, const run::Run&, const run::Run&) {}

}  // namespace ergometer::page
