#include "physics/gpu_power.h"

#include <gtest/gtest.h>
