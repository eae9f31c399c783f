#include "physics/sensor.h"

#include <gtest/gtest.h>
