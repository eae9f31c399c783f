#include "physics/node_power.h"

#include <gtest/gtest.h>
