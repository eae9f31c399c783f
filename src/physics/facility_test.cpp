#include "physics/facility.h"

#include <gtest/gtest.h>
