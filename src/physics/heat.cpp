#include "physics/heat.h"
