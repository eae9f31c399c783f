#include "physics/heat.h"

#include <gtest/gtest.h>
