#include "physics/node_power.h"
